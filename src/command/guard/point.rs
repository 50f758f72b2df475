//! Points: the sizes at which a table is tested.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use table::{Deployment, MeasuredPoint, OperatorClass, Operators, Query, RulePlace, RuleSource};
use table::{ShapeRules, Table};
use vocabulary::{Candidate, Cell, Datatype, Distribution, Operator, RankOrder};

/// The reason for testing a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PointKind {
    /// A size that was measured for the table.
    Measured,
    /// The size from which a rule holds, rounded up to whole elements.
    Threshold,
    /// The last size of whole elements below a threshold.
    BelowThreshold,
    /// A size that was drawn at random between two measured ones.
    Probe,
}

/// A size at which an entry of a table decides, or several entries that choose the same candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The cell to measure; its operator is noncommutative if the rules are for such operators.
    pub cell: Cell,
    /// The operators of the entry; `any` if there are several entries.
    pub operators: Operators,
    /// The order of ranks for which the entry was made; it is not judged with another order.
    pub order: RankOrder,
    /// The reason for testing this size.
    pub kind: PointKind,
    /// The rules that decide, one per entry.
    pub rules: Vec<RulePlace>,
    /// The candidate that they choose.
    pub chosen: Candidate,
    /// The table's record of measurements at this size.
    pub recorded: Option<MeasuredPoint>,
    /// The speed-up over the default that the table expects; 1 if unknown.
    pub stake: f64,
}

impl Point {
    /// Whether the table keeps the library's default here.
    pub fn keeps_default(&self) -> bool {
        self.chosen == Candidate::Default
    }

    /// Whether measuring one of two points also measures the other.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        let key = |point: &Self| (point.cell, point.order);
        key(self) == key(other) && self.chosen == other.chosen
    }

    /// Whether the chosen candidate can be measured here.
    pub(crate) fn is_measurable(&self) -> bool {
        !matches!(self.chosen, Candidate::Foreign { .. })
    }

    /// Whether a library's exported file holds the table's choice here; `file` is the class of operators for which it
    /// holds rules ([`crate::Activation::operator_class`]).
    pub fn is_exported(
        &self,
        table: &Table,
        deployment: Deployment,
        file: Option<OperatorClass>,
    ) -> bool {
        if !self.cell.collective.is_reduction() {
            return true;
        }
        // Rules for commutative operators, such as the cell's, take precedence over those for any operator.
        let hides = |entry: &ShapeRules| {
            entry.operators == Operators::Commutative
                && entry.shape == self.cell.shape
                && entry.deployments.hold_for(deployment)
        };
        let entries = table.collectives.get(&self.cell.collective);
        let is_hidden = file != Some(OperatorClass::Noncommutative)
            && self.operators == Operators::Any
            && self.rules.len() == 1
            && entries.is_some_and(|entries| entries.iter().any(hides));
        !is_hidden && file.is_none_or(|class| self.operators.hold_for(class))
    }

    /// Whether the point was drawn at random.
    pub fn is_probe(&self) -> bool {
        self.kind == PointKind::Probe
    }
}

/// The points of a table for a deployment: all measured sizes and, if `thresholds`, the sizes from which rules hold and
/// those just below; points with most at stake come first.
///
/// The stake is the speed-up that the table expects. The first point of each chosen algorithm of a collective comes
/// before the second of any, so that the first few points cover all algorithms; points that keep the default come last.
/// Rules from the model, and candidates that cannot be measured here, are left out. `elements` are the datatype and the
/// operator of reductions.
pub fn table_points(
    table: &Table,
    deployment: Deployment,
    elements: (Datatype, Operator),
    thresholds: bool,
) -> Vec<Point> {
    let mut points = Vec::new();
    for (cell, entry) in measured_entries(table, deployment, elements) {
        let sizes = sizes_to_test(entry, cell.datatype.size_bytes(), thresholds);
        points.extend(sizes.into_iter().map(|(bytes, kind)| {
            let cell = Cell { bytes, ..cell };
            point_of_entry(table, entry, deployment, cell, kind)
        }));
    }
    points.retain(Point::is_measurable);
    sort_by_stake(merge_alike(points))
}

/// The entries for a deployment that were made from measurements, each with a cell of size 0; of an irregular collective
/// for each distribution that the table names.
pub(crate) fn measured_entries(
    table: &Table,
    deployment: Deployment,
    elements: (Datatype, Operator),
) -> impl Iterator<Item = (Cell, &ShapeRules)> {
    let all = table
        .collectives
        .iter()
        .flat_map(move |(&collective, entries)| {
            let datatype = if collective.is_reduction() {
                elements.0
            } else {
                Datatype::Byte
            };
            let operator = move |entry: &ShapeRules| match entry.operators {
                _ if !collective.is_reduction() => None,
                Operators::Noncommutative => Some(Operator::Noncommutative),
                _ => Some(elements.1),
            };
            let cell = move |entry: &ShapeRules| Cell {
                collective,
                shape: entry.shape,
                bytes: 0,
                datatype,
                operator: operator(entry),
                distribution: Distribution::Uniform,
            };
            let distributions = match &table.provenance.distributions[..] {
                named @ [_, ..] if collective.is_irregular() => named,
                _ => &[Distribution::Uniform],
            };
            entries.iter().flat_map(move |entry| {
                distributions.iter().map(move |&distribution| {
                    let of_distribution = Cell {
                        distribution,
                        ..cell(entry)
                    };
                    (of_distribution, entry)
                })
            })
        });
    all.filter(move |(_, entry)| {
        entry.deployments.hold_for(deployment) && entry.source == RuleSource::Measured
    })
}

/// Merges points that are measured alike: entries for different operators that choose the same candidate at a size.
pub(crate) fn merge_alike(points: Vec<Point>) -> Vec<Point> {
    let mut all: Vec<Point> = Vec::new();
    for point in points {
        match all.iter_mut().find(|known| known.is_alike(&point)) {
            Some(known) => {
                known.rules.extend(point.rules);
                known.operators = Operators::Any;
                known.kind = known.kind.min(point.kind);
                known.recorded = known.recorded.or(point.recorded);
            }
            None => all.push(point),
        }
    }
    all
}

/// The sizes of an entry in bytes, rounded to whole elements, each once.
fn sizes_to_test(entry: &ShapeRules, element: u64, thresholds: bool) -> BTreeMap<u64, PointKind> {
    let mut sizes = BTreeMap::new();
    for point in &entry.measured {
        sizes.insert(point.bytes.next_multiple_of(element), PointKind::Measured);
    }
    let rules = entry.rules.iter().skip(1).filter(|_| thresholds);
    for from in rules.map(|rule| rule.from_bytes) {
        let at = from.next_multiple_of(element);
        sizes.entry(at).or_insert(PointKind::Threshold);
        let below = (from - 1) / element * element;
        // A call without data has no time to compare.
        if below > 0 {
            sizes.entry(below).or_insert(PointKind::BelowThreshold);
        }
    }
    sizes
}

/// The point of an entry at a cell's size.
pub(crate) fn point_of_entry(
    table: &Table,
    entry: &ShapeRules,
    deployment: Deployment,
    cell: Cell,
    kind: PointKind,
) -> Point {
    let decision = table.lookup(&Query {
        collective: cell.collective,
        shape: cell.shape,
        order: entry.order,
        bytes: cell.bytes,
        operators: match entry.operators {
            Operators::Commutative => OperatorClass::Commutative,
            // Another entry may have rules for commutative operators.
            Operators::Any | Operators::Noncommutative => OperatorClass::Noncommutative,
        },
        deployment,
    });
    // The times of several distributions are recorded as one mean.
    let has_own_times =
        !cell.collective.is_irregular() || table.provenance.distributions.len() <= 1;
    let mut measured = entry.measured.iter();
    let recorded = measured.find(|point| has_own_times && point.bytes == cell.bytes);
    Point {
        cell,
        operators: entry.operators,
        order: entry.order,
        kind,
        rules: vec![decision.rule],
        chosen: decision.candidate.clone(),
        recorded: recorded.copied(),
        stake: decision.speedup.unwrap_or(1.0),
    }
}

/// Sorts points by stake, largest first, but with the first point of each algorithm before the second of any.
fn sort_by_stake(mut points: Vec<Point>) -> Vec<Point> {
    points.sort_by(|a, b| {
        let stake = b.stake.total_cmp(&a.stake);
        stake.then_with(|| (a.cell, a.operators).cmp(&(b.cell, b.operators)))
    });
    let mut seen: BTreeMap<(schedule::Collective, String), u32> = BTreeMap::new();
    let mut ranked: Vec<(bool, u32, Point)> = points
        .into_iter()
        .map(|point| {
            let name = point.chosen.algorithm().to_owned();
            let count = seen.entry((point.cell.collective, name)).or_default();
            *count += 1;
            (point.keeps_default(), *count, point)
        })
        .collect();
    ranked.sort_by_key(|(keeps_default, count, _)| (*keeps_default, *count));
    ranked.into_iter().map(|(_, _, point)| point).collect()
}

/// The cells of points, each once, with the candidates to measure: the default, the points' choices and their rivals.
pub(crate) fn cells_to_measure<'p>(
    points: impl Iterator<Item = (&'p Point, Option<&'p Candidate>)>,
) -> Vec<(Cell, Vec<Candidate>)> {
    let mut cells: BTreeMap<Cell, BTreeSet<&Candidate>> = BTreeMap::new();
    for (point, rival) in points {
        let candidates = cells.entry(point.cell).or_default();
        candidates.extend(
            [&Candidate::Default, &point.chosen]
                .into_iter()
                .chain(rival),
        );
    }
    // `Default` precedes all other candidates in their order.
    let whole = cells.into_iter();
    whole
        .map(|(cell, candidates)| (cell, candidates.into_iter().cloned().collect()))
        .collect()
}

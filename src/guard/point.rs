//! The sizes at which a table is looked at.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use table::{Deployment, MeasuredPoint, OperatorClass, Operators, Query, RulePlace, RuleSource};
use table::{ShapeRules, Table};
use vocabulary::{Candidate, Cell, Datatype, Operator, RankOrder};

/// Why a size is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PointKind {
    /// A size that was measured for the table.
    Measured,
    /// A rule begins there, or at the next whole element.
    Threshold,
    /// The last whole element before a rule begins.
    BelowThreshold,
    /// A size that was drawn at random between two measured ones.
    Probe,
}

/// A size at which an entry of a table decides, or several that decide alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// What is called; rules for operators that do not commute are measured with one that does not.
    pub cell: Cell,
    /// The operators of the entry; all of them if there are several.
    pub operators: Operators,
    /// The order in which the ranks stood when the entry was made; it is not judged with ranks in another one.
    pub order: RankOrder,
    /// Why this size.
    pub place: PointKind,
    /// The rules that decide, one an entry.
    pub rules: Vec<RulePlace>,
    /// What it chooses.
    pub chosen: Candidate,
    /// What the table says was measured there.
    pub recorded: Option<MeasuredPoint>,
    /// The default's expected time divided by that of what is chosen; 1 where the table does not know.
    pub stake: f64,
}

impl Point {
    /// Whether the library decides as it would without the table.
    pub fn keeps_default(&self) -> bool {
        self.chosen == Candidate::Default
    }

    /// Whether measuring one of two points tells all about the other.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        let place = |point: &Self| (point.cell, point.order);
        place(self) == place(other) && self.chosen == other.chosen
    }

    /// Whether what is chosen can be had here.
    pub(crate) fn is_measurable(&self) -> bool {
        !matches!(self.chosen, Candidate::Foreign { .. })
    }

    /// Whether a library's file tells the library what the table chooses here; `file` are the operators whose
    /// rules it has ([`crate::Activation::operators`]).
    pub fn is_told(
        &self,
        table: &Table,
        deployment: Deployment,
        file: Option<OperatorClass>,
    ) -> bool {
        if !self.cell.collective.is_reduction() {
            return true;
        }
        // Rules for all operators stand behind those for operators that commute, which the cell's does.
        let hides = |entry: &ShapeRules| {
            entry.operators == Operators::Commutative
                && entry.shape == self.cell.shape
                && entry.deployments.cover(deployment)
        };
        let entries = table.collectives.get(&self.cell.collective);
        let is_hidden = file != Some(OperatorClass::Noncommutative)
            && self.operators == Operators::Any
            && self.rules.len() == 1
            && entries.is_some_and(|entries| entries.iter().any(hides));
        !is_hidden && file.is_none_or(|class| self.operators.cover(class))
    }

    /// Whether the point was drawn at random.
    pub fn is_probe(&self) -> bool {
        self.place == PointKind::Probe
    }
}

/// The points of what a table says for a deployment: all measured sizes and, if `thresholds`, those at which
/// rules begin and those just below; those with most at stake first.
///
/// What is at stake is the speed-up that the table expects. Of each algorithm chosen for a collective the
/// point with most at stake comes first, before any second one, so that the first few tell of all
/// algorithms; where the default is kept comes last. Rules of the model, and what cannot be measured
/// here, are left out. `elements` are those of reductions.
pub fn points(
    table: &Table,
    deployment: Deployment,
    elements: (Datatype, Operator),
    thresholds: bool,
) -> Vec<Point> {
    let mut points = Vec::new();
    for (cell, entry) in entries(table, deployment, elements) {
        let sizes = sizes(entry, cell.datatype.size_bytes(), thresholds);
        points.extend(sizes.into_iter().map(|(bytes, place)| {
            let cell = Cell { bytes, ..cell };
            point(table, entry, deployment, cell, place)
        }));
    }
    points.retain(Point::is_measurable);
    by_stake(merged(points))
}

/// The entries for a deployment that were made from measurements, each with a cell that lacks its size.
pub(crate) fn entries(
    table: &Table,
    deployment: Deployment,
    elements: (Datatype, Operator),
) -> impl Iterator<Item = (Cell, &ShapeRules)> {
    let all = table
        .collectives
        .iter()
        .flat_map(move |(&collective, entries)| {
            let datatype = match collective.is_reduction() {
                true => elements.0,
                false => Datatype::Byte,
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
            };
            entries.iter().map(move |entry| (cell(entry), entry))
        });
    all.filter(move |(_, entry)| {
        entry.deployments.cover(deployment) && entry.source == RuleSource::Measured
    })
}

/// Entries for some operators each that choose the same at a size are measured once.
pub(crate) fn merged(points: Vec<Point>) -> Vec<Point> {
    let mut all: Vec<Point> = Vec::new();
    for point in points {
        match all.iter_mut().find(|known| known.is_alike(&point)) {
            Some(known) => {
                known.rules.extend(point.rules);
                known.operators = Operators::Any;
                known.place = known.place.min(point.place);
                known.recorded = known.recorded.or(point.recorded);
            }
            None => all.push(point),
        }
    }
    all
}

/// The sizes in bytes of whole elements, each once.
fn sizes(entry: &ShapeRules, element: u64, thresholds: bool) -> BTreeMap<u64, PointKind> {
    let mut sizes = BTreeMap::new();
    for point in &entry.measured {
        sizes.insert(point.bytes.next_multiple_of(element), PointKind::Measured);
    }
    let rules = entry.rules.iter().skip(1).filter(|_| thresholds);
    for from in rules.map(|rule| rule.from_bytes) {
        let at = from.next_multiple_of(element);
        sizes.entry(at).or_insert(PointKind::Threshold);
        let below = (from - 1) / element * element;
        // Calls without data say nothing about sizes.
        if below > 0 {
            sizes.entry(below).or_insert(PointKind::BelowThreshold);
        }
    }
    sizes
}

/// What an entry says at a size.
pub(crate) fn point(
    table: &Table,
    entry: &ShapeRules,
    deployment: Deployment,
    cell: Cell,
    place: PointKind,
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
    let recorded = entry
        .measured
        .iter()
        .find(|point| point.bytes == cell.bytes);
    Point {
        cell,
        operators: entry.operators,
        order: entry.order,
        place,
        rules: vec![decision.rule],
        chosen: decision.candidate.clone(),
        recorded: recorded.copied(),
        stake: decision.speedup.unwrap_or(1.0),
    }
}

/// Most at stake first, but one point of each algorithm before a second of any.
fn by_stake(mut points: Vec<Point>) -> Vec<Point> {
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

/// The cells of some points, each once, with the default, what the points choose, and the candidates to be
/// measured beside it.
pub(crate) fn cells<'p>(
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
    // `Default` is the first of all candidates in their order.
    let whole = cells.into_iter();
    whole
        .map(|(cell, candidates)| (cell, candidates.into_iter().cloned().collect()))
        .collect()
}

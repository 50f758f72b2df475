//! The differences between two tables, and the speed-up expected of each.

mod entry;

use std::collections::BTreeSet;

use schedule::Collective;
use serde::Serialize;
use vocabulary::{Candidate, CommShape, Library, RankOrder, collective_name};

use self::entry::{Entry, Outcome, geometric_mean};
use crate::{Confidence, Deployment, Deployments, OperatorClass, Operators, Table};

/// The differences between two tables, `before` and `after`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Diff {
    /// Ranges of sizes in which the two choose differently, by collective, shape and size.
    pub changes: Vec<Change>,
    /// Entries that only one of them has.
    pub only_in_one: Vec<OnlyIn>,
    /// How the times of the library's default differ, by collective, where both measured some.
    pub defaults: Vec<DefaultChange>,
}

/// The differences between two tables, and where each is from: what `colltune diff --json` prints.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableComparison {
    /// The earlier table.
    pub before: Origin,
    /// The later one.
    pub after: Origin,
    /// The differences.
    #[serde(flatten)]
    pub diff: Diff,
}

impl TableComparison {
    /// Compares two tables, each with its name: a path or a digest.
    pub fn of(before: (&str, &Table), after: (&str, &Table)) -> Self {
        Self {
            before: Origin::of(before.0, before.1),
            after: Origin::of(after.0, after.1),
            diff: before.1.diff(after.1),
        }
    }
}

/// Where a table is from.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// Its path or digest.
    pub table: String,
    /// The library that was measured.
    pub library: Library,
    /// The day of the last measurement.
    pub date: String,
    /// The number of launches.
    pub launches: u32,
    /// Digest of the campaign.
    pub campaign: String,
}

impl Origin {
    fn of(name: &str, table: &Table) -> Self {
        let of = &table.provenance;
        Self {
            table: name.to_owned(),
            library: of.library.clone(),
            date: of.date.clone(),
            launches: of.launches,
            campaign: of.campaign.clone(),
        }
    }
}

/// What the rules of an entry hold for.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Group {
    /// The collective.
    #[serde(serialize_with = "collective_name::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub collective: Collective,
    /// The communicator shape.
    #[serde(flatten)]
    pub shape: CommShape,
    /// The order of ranks; null if neither table says it.
    #[serde(serialize_with = "RankOrder::serialize_known")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<RankOrder>"))]
    pub order: RankOrder,
    /// The operators.
    pub operators: Operators,
    /// The deployments.
    #[serde(rename = "deployment")]
    pub deployments: Deployments,
}

/// Another choice in a range of sizes.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Where.
    #[serde(flatten)]
    pub group: Group,
    /// The first size, in bytes.
    pub from_bytes: u64,
    /// The first size beyond, in bytes; none if the range has no end.
    pub below_bytes: Option<u64>,
    /// What was chosen.
    pub before: ChosenRange,
    /// What is chosen now.
    pub after: ChosenRange,
    /// The speed-up over the default that is expected now, divided by the one expected before: what
    /// the change is worth if the default has stayed as fast. The geometric mean over the measured
    /// sizes of the range. Null if a speed-up is unknown, and where the default is chosen again, since the
    /// speed-up expected before did not hold.
    pub worth: Option<f64>,
}

impl Change {
    /// Whether the default is chosen again.
    pub fn is_turned_back(&self) -> bool {
        self.after.candidate == Candidate::Default
    }
}

/// What a table chooses in a range of sizes.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChosenRange {
    /// The candidate.
    #[serde(flatten, serialize_with = "Candidate::in_parts")]
    #[cfg_attr(feature = "schema", schemars(with = "vocabulary::CandidateParts"))]
    pub candidate: Candidate,
    /// Its expected speed-up over the default, by this table's own measurements: the geometric mean
    /// over the measured sizes of the range.
    pub speedup: Option<f64>,
    /// How certain the decision is: the least of the range.
    pub confidence: Confidence,
}

/// An entry without a counterpart.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OnlyIn {
    /// What it holds for.
    #[serde(flatten)]
    pub group: Group,
    /// The table that has it.
    pub side: Side,
}

/// One of the two tables.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The first.
    Before,
    /// The second.
    After,
}

/// How the library's default has changed.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DefaultChange {
    /// The collective.
    #[serde(serialize_with = "collective_name::serialize")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub collective: Collective,
    /// Shapes and sizes that both tables measured.
    pub points: usize,
    /// Its time after divided by that before, the geometric mean over the points: above 1 it has
    /// become slower.
    pub mean: f64,
    /// The ratio that is farthest from 1.
    pub extreme: f64,
    /// Where that is.
    #[serde(flatten)]
    pub shape: CommShape,
    /// The size, in bytes, at which it is.
    pub bytes: u64,
}

impl Diff {
    /// How many changes promise more over the default than before, and how many less.
    pub fn more_and_less(&self) -> [usize; 2] {
        let worth = || self.changes.iter().filter_map(|change| change.worth);
        let more = worth().filter(|worth| *worth > 1.0).count();
        [more, worth().filter(|worth| *worth < 1.0).count()]
    }

    /// The number of ranges in which the default is chosen again.
    pub fn turned_back(&self) -> usize {
        let back = self.changes.iter().filter(|change| change.is_turned_back());
        back.count()
    }

    /// Whether both tables decide alike everywhere.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.only_in_one.is_empty()
    }
}

impl Table {
    /// Compares this table with a later one: shapes that both have, range by range. Shapes that only
    /// one has, or both in different orders of ranks, are named and not compared with their nearest
    /// neighbours.
    pub fn diff(&self, after: &Table) -> Diff {
        let mut diff = Diff::default();
        let both = [self, after];
        let collectives: BTreeSet<Collective> = both
            .iter()
            .flat_map(|table| table.collectives.keys().copied())
            .collect();
        for collective in collectives {
            let classes = match collective.is_reduction() {
                true => &OperatorClass::ALL[..],
                false => &[OperatorClass::Commutative],
            };
            let shapes = shapes(&both, collective);
            for &(shape, order) in &shapes {
                let mut found = Vec::new();
                for deployment in Deployment::ALL {
                    for &class in classes {
                        let entry = Entry::new(both, collective, (shape, order), class, deployment);
                        found.push((class, deployment, entry.compare()));
                    }
                }
                for (operators, deployments, outcome) in joined(collective, found) {
                    let group = Group {
                        collective,
                        shape,
                        order,
                        operators,
                        deployments,
                    };
                    diff.take(group, outcome);
                }
            }
            diff.defaults
                .extend(default_change(both, collective, &shapes));
        }
        diff
    }
}

impl Diff {
    fn take(&mut self, group: Group, outcome: Outcome) {
        match outcome {
            Outcome::Absent => {}
            Outcome::Only(side) => self.only_in_one.push(OnlyIn { group, side }),
            Outcome::Both(changes) => {
                let changes = changes.into_iter();
                let of_group = changes.map(|change| Change { group, ..change });
                self.changes.extend(of_group);
            }
        }
    }
}

/// The shapes, each with its order of ranks, for which at least one of the tables has rules of its own.
/// An order that is not known is that of the other table.
fn shapes(tables: &[&Table; 2], collective: Collective) -> BTreeSet<(CommShape, RankOrder)> {
    let entries = tables
        .iter()
        .filter_map(|table| table.collectives.get(&collective))
        .flatten();
    let all: BTreeSet<(CommShape, RankOrder)> = entries
        .map(|entry| (entry.shape, entry.order.on(entry.shape)))
        .collect();
    let is_told = |(shape, order): &(CommShape, RankOrder)| {
        let mut others = all.iter();
        !order.is_unknown() || !others.any(|(other, known)| other == shape && !known.is_unknown())
    };
    all.iter().filter(|group| is_told(group)).copied().collect()
}

/// What came of the same for both classes of operators, or for both deployments, said once.
fn joined(
    collective: Collective,
    found: Vec<(OperatorClass, Deployment, Outcome)>,
) -> Vec<(Operators, Deployments, Outcome)> {
    let mut by_class: Vec<(Operators, Deployments, Outcome)> = Vec::new();
    for (class, deployment, outcome) in found {
        let operators = match collective.is_reduction() {
            false => Operators::Any,
            true => class.into(),
        };
        let deployments = deployment.into();
        let mut known = by_class.iter_mut();
        match known.find(|known| (known.1, &known.2) == (deployments, &outcome)) {
            Some(known) => known.0 = Operators::Any,
            None => by_class.push((operators, deployments, outcome)),
        }
    }
    let mut joined: Vec<(Operators, Deployments, Outcome)> = Vec::new();
    for (operators, deployments, outcome) in by_class {
        let mut known = joined.iter_mut();
        match known.find(|known| (known.0, &known.2) == (operators, &outcome)) {
            Some(known) => known.1 = Deployments::Any,
            None => joined.push((operators, deployments, outcome)),
        }
    }
    joined
}

/// The times of the default that both tables know, compared.
fn default_change(
    [before, after]: [&Table; 2],
    collective: Collective,
    shapes: &BTreeSet<(CommShape, RankOrder)>,
) -> Option<DefaultChange> {
    // Times of calls that follow each other in different ways do not compare.
    if before.provenance.pattern != after.provenance.pattern {
        return None;
    }
    let mut ratios = Vec::new();
    for &(shape, order) in shapes {
        let times = |table| default_times(table, collective, shape, order);
        let [before, after] = [before, after].map(times);
        for (bytes, seconds) in after {
            if let Ok(place) = before.binary_search_by_key(&bytes, |(size, _)| *size) {
                ratios.push((seconds / before[place].1, shape, bytes));
            }
        }
    }
    let distance = |ratio: f64| ratio.ln().abs();
    let &(extreme, shape, bytes) = ratios
        .iter()
        .max_by(|a, b| distance(a.0).total_cmp(&distance(b.0)))?;
    Some(DefaultChange {
        collective,
        points: ratios.len(),
        mean: geometric_mean(ratios.iter().map(|(ratio, ..)| Some(*ratio)))?,
        extreme,
        shape,
        bytes,
    })
}

/// Every size at which a table knows the default's time on a shape, in seconds.
fn default_times(
    table: &Table,
    collective: Collective,
    shape: CommShape,
    order: RankOrder,
) -> Vec<(u64, f64)> {
    let entries = table.collectives.get(&collective).into_iter().flatten();
    let mut times: Vec<(u64, f64)> = entries
        .filter(|entry| entry.shape == shape && entry.is_in(order))
        .flat_map(|entry| &entry.measured)
        .map(|point| (point.bytes, point.default_seconds))
        .collect();
    times.sort_by_key(|(bytes, _)| *bytes);
    times.dedup_by_key(|(bytes, _)| *bytes);
    times
}

//! The differences between two tables, and the speed-up expected of each.

mod entry;

use std::collections::BTreeSet;

use schedule::Collective;
use serde::Serialize;
use statistics::geometric_mean;
use vocabulary::{Candidate, CommShape, Library, RankOrder, collective_name};

use self::entry::{EntryPair, Outcome};
use crate::{Confidence, Deployments, Operators, Query, Table};

/// The differences between two tables, `before` and `after`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Diff {
    /// Ranges of sizes in which the two choose differently, by collective, shape and size.
    pub changes: Vec<Change>,
    /// The number of entries that both tables have.
    pub in_both: usize,
    /// Entries that only one table has.
    pub only_in_one: Vec<OnlyIn>,
    /// The changes of the times of the library's default, by collective, where both tables have such times.
    pub defaults: Vec<DefaultChange>,
}

/// The differences between two tables, and the origin of each: the output of `colltune diff --json`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableComparison {
    /// The earlier table.
    pub before: Origin,
    /// The later one.
    pub after: Origin,
    /// What to consider if the tables are of different libraries or releases, or have different rules for nonblocking
    /// calls, in sentences; null if neither is so.
    pub note: Option<String>,
    /// Whether the rules for nonblocking calls differ, which are not compared further.
    #[serde(skip)]
    pub is_nonblocking_different: bool,
    /// The differences.
    #[serde(flatten)]
    pub diff: Diff,
}

impl TableComparison {
    /// Compares two tables, each with its name: a path or a digest.
    pub fn from_tables(before: (&str, &Table), after: (&str, &Table)) -> Self {
        Self {
            before: Origin::from_table(before.0, before.1),
            after: Origin::from_table(after.0, after.1),
            note: join_notes(before.1, after.1),
            is_nonblocking_different: have_different_sections(before.1, after.1),
            diff: before.1.diff(after.1),
        }
    }
}

/// What is said beside the differences.
fn join_notes(before: &Table, after: &Table) -> Option<String> {
    let of_sections = have_different_sections(before, after).then(|| {
        "The rules for nonblocking calls differ, too; `colltune lookup --nonblocking` shows them, and what follows is about \
         blocking calls."
            .to_owned()
    });
    let notes = note_on_libraries(before, after)
        .into_iter()
        .chain(of_sections);
    let joined = notes.collect::<Vec<_>>().join(" ");
    (!joined.is_empty()).then_some(joined)
}

/// Whether two tables have different rules for nonblocking calls.
fn have_different_sections(before: &Table, after: &Table) -> bool {
    let [before, after] = [before, after].map(|table| {
        table
            .nonblocking
            .as_ref()
            .map(|section| &section.collectives)
    });
    before != after
}

/// The sentence about tables of different libraries or releases.
fn note_on_libraries(before: &Table, after: &Table) -> Option<String> {
    let [before, after] = [before, after].map(|table| &table.provenance.library);
    if before == after {
        return None;
    }
    let what = if before.name == after.name {
        "releases of a library"
    } else {
        "libraries"
    };
    Some(format!(
        "The tables are of two {what}, {before} and {after}: each speed-up is over the default of its own, so a worth says \
         nothing about which of the two is faster, and the times of the defaults are those of different programs."
    ))
}

/// The origin of a table.
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
    fn from_table(name: &str, table: &Table) -> Self {
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

/// The domain of an entry's rules.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Group {
    /// The collective.
    #[serde(serialize_with = "collective_name::serialize")]
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "collective_name::list_in_schema")
    )]
    pub collective: Collective,
    /// The communicator shape.
    #[serde(flatten)]
    pub shape: CommShape,
    /// The order of ranks; null if neither table has it.
    #[serde(serialize_with = "RankOrder::serialize_known")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<RankOrder>"))]
    pub order: RankOrder,
    /// The operators.
    pub operators: Operators,
    /// The deployments.
    #[serde(rename = "deployment")]
    pub deployments: Deployments,
}

/// A range of sizes with a different choice.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The entry.
    #[serde(flatten)]
    pub group: Group,
    /// The first size, in bytes.
    pub from_bytes: u64,
    /// The first size beyond the range, in bytes; null if the range has no end.
    pub below_bytes: Option<u64>,
    /// The choice of the earlier table.
    pub before: ChosenRange,
    /// The choice of the later table.
    pub after: ChosenRange,
    /// The expected speed-up over the default now, divided by the one expected before: the gain from the change if the
    /// default's time is unchanged. The geometric mean over the measured sizes of the range. Null if a speed-up is
    /// unknown, and where the default is chosen again, since the speed-up expected before was wrong.
    pub worth: Option<f64>,
}

impl Change {
    /// Whether the default is chosen again.
    pub fn is_turned_back(&self) -> bool {
        self.after.candidate == Candidate::Default
    }
}

/// A table's choice in a range of sizes.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChosenRange {
    /// The candidate.
    #[serde(flatten, serialize_with = "Candidate::in_parts")]
    #[cfg_attr(feature = "schema", schemars(with = "vocabulary::CandidateParts"))]
    pub candidate: Candidate,
    /// Its expected speed-up over the default by this table's own measurements: the geometric mean over the measured
    /// sizes of the range.
    pub speedup: Option<f64>,
    /// The confidence of the decision: the lowest in the range.
    pub confidence: Confidence,
}

/// An entry that only one table has.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OnlyIn {
    /// The entry.
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

/// The change of the times of the library's default.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DefaultChange {
    /// The collective.
    #[serde(serialize_with = "collective_name::serialize")]
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "collective_name::list_in_schema")
    )]
    pub collective: Collective,
    /// The number of shapes and sizes that both tables measured.
    pub points: usize,
    /// The ratio of its times after and before, as the geometric mean over the points: above 1 it has become slower.
    pub mean: f64,
    /// The ratio that is farthest from 1.
    pub extreme: f64,
    /// The entry with that ratio.
    #[serde(flatten)]
    pub shape: CommShape,
    /// The size with that ratio, in bytes.
    pub bytes: u64,
}

impl Diff {
    /// The numbers of changes with a larger and with a smaller expected speed-up over the default.
    pub fn count_gains_and_losses(&self) -> [usize; 2] {
        let worth = || self.changes.iter().filter_map(|change| change.worth);
        let more = worth().filter(|worth| *worth > 1.0).count();
        [more, worth().filter(|worth| *worth < 1.0).count()]
    }

    /// The number of ranges in which the default is chosen again.
    pub fn count_turned_back(&self) -> usize {
        let back = self.changes.iter().filter(|change| change.is_turned_back());
        back.count()
    }

    /// Whether both tables make the same decisions everywhere.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.only_in_one.is_empty()
    }
}

impl Table {
    /// Compares this table with a later one: shapes that both have, range by range. Shapes that only one table has, or
    /// that both have in different orders of ranks, are listed and not compared with their nearest neighbours.
    pub fn diff(&self, after: &Table) -> Diff {
        let mut diff = Diff::default();
        let both = [self, after];
        let collectives: BTreeSet<Collective> = both
            .iter()
            .flat_map(|table| table.collectives.keys().copied())
            .collect();
        for collective in collectives {
            let shapes = shapes_to_compare(&both, collective);
            for &(shape, order) in &shapes {
                let queries = Query::all_on_shape(collective, shape, order);
                let found = queries.map(|query| (query, EntryPair::new(both, query).compare()));
                for (operators, deployments, outcome) in merge_equal_outcomes(found) {
                    let group = Group {
                        collective,
                        shape,
                        order,
                        operators,
                        deployments,
                    };
                    diff.add_outcome(group, outcome);
                }
            }
            diff.defaults
                .extend(compare_defaults(both, collective, &shapes));
        }
        diff
    }
}

impl Diff {
    fn add_outcome(&mut self, group: Group, outcome: Outcome) {
        match outcome {
            Outcome::Absent => {}
            Outcome::Only(side) => self.only_in_one.push(OnlyIn { group, side }),
            Outcome::Both(changes) => {
                self.in_both += 1;
                let changes = changes.into_iter();
                let of_group = changes.map(|change| Change { group, ..change });
                self.changes.extend(of_group);
            }
        }
    }
}

/// The shapes, each with its order of ranks, for which at least one of the tables has its own rules. If only one table
/// knows the order, its order is used.
fn shapes_to_compare(
    tables: &[&Table; 2],
    collective: Collective,
) -> BTreeSet<(CommShape, RankOrder)> {
    let entries = tables
        .iter()
        .filter_map(|table| table.collectives.get(&collective))
        .flatten();
    let all: BTreeSet<(CommShape, RankOrder)> = entries
        .map(|entry| (entry.shape, entry.order.on_shape(entry.shape)))
        .collect();
    let is_told = |(shape, order): &(CommShape, RankOrder)| {
        let mut others = all.iter();
        !order.is_unknown() || !others.any(|(other, known)| other == shape && !known.is_unknown())
    };
    all.iter().filter(|group| is_told(group)).copied().collect()
}

/// Merges equal outcomes for both classes of operators, or for both deployments.
fn merge_equal_outcomes(
    found: impl Iterator<Item = (Query, Outcome)>,
) -> Vec<(Operators, Deployments, Outcome)> {
    let mut by_class: Vec<(Operators, Deployments, Outcome)> = Vec::new();
    for (query, outcome) in found {
        let operators = if !query.collective.is_reduction() {
            Operators::Any
        } else {
            query.operators.into()
        };
        let deployments = query.deployment.into();
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

/// Compares the default's times that both tables have.
fn compare_defaults(
    [before, after]: [&Table; 2],
    collective: Collective,
    shapes: &BTreeSet<(CommShape, RankOrder)>,
) -> Option<DefaultChange> {
    // Times of different patterns of calls cannot be compared.
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
        mean: geometric_mean(ratios.iter().map(|(ratio, ..)| *ratio))?,
        extreme,
        shape,
        bytes,
    })
}

/// The default's times of a table on a shape, in seconds, by size.
fn default_times(
    table: &Table,
    collective: Collective,
    shape: CommShape,
    order: RankOrder,
) -> Vec<(u64, f64)> {
    let entries = table.collectives.get(&collective).into_iter().flatten();
    let mut times: Vec<(u64, f64)> = entries
        .filter(|entry| entry.shape == shape && entry.holds_for_order(order))
        .flat_map(|entry| &entry.measured)
        .map(|point| (point.bytes, point.default_seconds))
        .collect();
    times.sort_by_key(|(bytes, _)| *bytes);
    times.dedup_by_key(|(bytes, _)| *bytes);
    times
}

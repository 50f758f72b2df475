//! The choices of a table that one library's settings can express.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use libraries::LibraryName;
use schedule::Collective;
use table::{Deployment, Deployments, OperatorClass, Rule, RuleSource, ShapeRules, Table};
use vocabulary::units::format_counted;
use vocabulary::{Candidate, CommShape, Library, RankOrder};

use crate::{ExportError, Format, Options};

/// One of the library's own algorithms, with its parameters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Native {
    /// Its id in the library's spelling.
    pub id: String,
    /// Size of its segments in bytes; `None` for the library's choice.
    pub segment_bytes: Option<u64>,
    /// Its fanout; `None` for the library's choice.
    pub fanout: Option<u32>,
    /// The most requests under way; `None` for the library's choice.
    pub max_requests: Option<u32>,
}

/// The choice from a message size on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryRule {
    /// The smallest message, as [`table::message_size`] defines it.
    pub from_bytes: u64,
    /// The algorithm; `None` if the library decides.
    pub native: Option<Native>,
}

impl LibraryRule {
    /// The library decides from a size on.
    pub(crate) fn left_to_library(from_bytes: u64) -> Self {
        let native = None;
        Self { from_bytes, native }
    }
}

/// The choices for communicators of a range of numbers of ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RanksRules {
    /// The smallest number of ranks: a measured one.
    pub first: u32,
    /// The largest number of ranks, included: `first`, or, if the policy extrapolates, the number before the next
    /// measured one. There are no choices for communicators larger than all measured ones.
    pub last: u32,
    /// The shapes on `first` ranks with these rules; empty if the measured shapes disagree, so that the library
    /// decides.
    pub shapes: Vec<CommShape>,
    /// The rules by ascending size, from 0; adjacent ones differ.
    pub choices: Vec<LibraryRule>,
}

impl RanksRules {
    /// The choice for a message.
    pub fn native_at(&self, bytes: u64) -> Option<&Native> {
        let holds = |choice: &&LibraryRule| choice.from_bytes <= bytes;
        self.choices.iter().rfind(holds)?.native.as_ref()
    }

    /// The entry of `all` for a number of ranks.
    pub(crate) fn find_for_ranks(all: &[Self], ranks: u32) -> Option<&Self> {
        all.iter()
            .find(|rules| (rules.first..=rules.last).contains(&ranks))
    }

    /// The smallest number of ranks, and a clause that names a shape with as many ranks that was not measured, if there
    /// is one among those that count; [`Self::shapes`] are the measured ones.
    fn unmeasured_placement(&self, counts: impl Fn(CommShape) -> bool) -> Option<(u32, String)> {
        let ranks = self.first;
        let even = (1..=ranks).filter(|nodes| ranks.is_multiple_of(*nodes));
        let shapes = even.map(|nodes| CommShape {
            nodes,
            ppn: ranks / nodes,
        });
        let mut others = shapes.filter(|shape| counts(*shape) && !self.shapes.contains(shape));
        let other = others.next()?;
        let measured: Vec<String> = self.shapes.iter().map(CommShape::to_string).collect();
        let measured = measured.join(" and ");
        Some((
            ranks,
            format!("those of {measured} to all of {ranks} ranks, such as {other}"),
        ))
    }

    /// The rules for the smallest number of ranks, which was measured, and those for the others, if there are any.
    pub(crate) fn split_off_measured(self) -> Vec<Self> {
        if self.last == self.first {
            return vec![self];
        }
        let others = Self {
            first: self.first + 1,
            ..self.clone()
        };
        let last = self.first;
        vec![Self { last, ..self }, others]
    }

    /// Whether the library decides for all sizes.
    pub(crate) fn is_silent(&self) -> bool {
        self.choices.iter().all(|choice| choice.native.is_none())
    }

    /// Gives the sizes below and above those with choices the nearest one, unless some of them were measured: there the
    /// library's own decision was the best. False if nothing is changed.
    fn extend_to_all_sizes(&mut self, measured: Option<RangeInclusive<u64>>) -> bool {
        let is_chosen = |rule: &LibraryRule| rule.native.is_some();
        let (Some(first), Some(last)) = (
            self.choices.iter().position(is_chosen),
            self.choices.iter().rposition(is_chosen),
        ) else {
            return false;
        };
        if let Some(sizes) = measured {
            let is_left_below = self.choices[first].from_bytes > *sizes.start();
            let next = self.choices.get(last + 1);
            let is_left_above = next.is_some_and(|next| next.from_bytes <= *sizes.end());
            if is_left_below || is_left_above {
                return false;
            }
        }
        let before = self.choices.len();
        self.choices = self.choices[first..=last].to_vec();
        self.choices[0].from_bytes = 0;
        self.choices.len() != before
    }

    /// Each choice with the end of its range (excluded).
    pub(crate) fn ranges(&self) -> impl Iterator<Item = (&LibraryRule, Option<u64>)> {
        let later = self.choices.iter().skip(1);
        let ends = later.map(|next| Some(next.from_bytes)).chain([None]);
        self.choices.iter().zip(ends)
    }

    /// Replaces each choice by the result of `choose`, which gets the choice and the end of its range (excluded).
    pub(crate) fn rewrite_choices(
        &mut self,
        choose: impl Fn(&LibraryRule, Option<u64>) -> Vec<LibraryRule>,
    ) {
        let ranges = self.ranges();
        let choices = ranges.flat_map(|(choice, end)| choose(choice, end));
        self.choices = choices.collect();
        self.choices
            .dedup_by(|next, before| next.native == before.native);
    }
}

/// All choices that a library can be given, for one class of operators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// The choices by collective and ascending number of ranks.
    pub collectives: BTreeMap<Collective, Vec<RanksRules>>,
    /// Notes for deployment, each a full sentence.
    pub notes: Vec<String>,
}

impl Choices {
    /// The choices of a table for a library and a class of operators.
    ///
    /// Decisions for the library's own settings are used. If a table has none, the entries for colltune are used where
    /// they name the library's own algorithms. Libraries do not distinguish shapes with equal numbers of ranks, nor
    /// orders of ranks: all measured ones must agree, or the options select one. For numbers of ranks between measured
    /// ones the choices are interpolated as by [`Table::lookup`], if the table was deployed with times of candidates. A
    /// table about another library or series of releases gives no choices.
    pub fn from_table(
        table: &Table,
        library: &Library,
        operators: OperatorClass,
        options: &Options,
    ) -> Self {
        Self::from_shapes(table, library, operators, options, |_| true)
    }

    /// The choices from some shapes alone.
    pub fn from_shapes(
        table: &Table,
        library: &Library,
        operators: OperatorClass,
        options: &Options,
        counts: impl Fn(CommShape) -> bool,
    ) -> Self {
        let mut choices = Self::default();
        let measured = &table.provenance.library;
        if !is_about(table, library) {
            choices.notes.push(format!(
                "The table was measured with {measured}, so none of its rules is written: {library} decides as \
                 without this file."
            ));
            return choices;
        }
        if measured.version != library.version {
            choices.notes.push(format!(
                "Measured with {measured}, written for {library}: check it before you rely on it."
            ));
        }
        let assumed = options.assume_shapes.iter().copied();
        let merging = RankMerging {
            operators,
            assumed: assumed.filter(|shape| counts(*shape)).collect(),
            extrapolate: options.policy.extrapolate,
        };
        let mut conflicting = Vec::new();
        let mut unmeasured = BTreeSet::new();
        for (&collective, entries) in &table.collectives {
            // The model's rules are not confirmed.
            let is_of_use = |entry: &&ShapeRules| {
                counts(entry.shape)
                    && (entry.source == RuleSource::Measured || options.policy.unconfirmed)
            };
            let mut entries: Vec<&ShapeRules> = entries.iter().filter(is_of_use).collect();
            let interpolated = table.interpolated_entries(collective);
            // Shapes that were measured take precedence over others with the same number of ranks.
            let measured_ranks: BTreeSet<u32> =
                entries.iter().map(|entry| entry.shape.ranks()).collect();
            entries.extend(interpolated.iter().filter(|entry| {
                counts(entry.shape)
                    && entry.deployments.hold_for(Deployment::Library)
                    && !measured_ranks.contains(&entry.shape.ranks())
            }));
            let ranks = merging.by_ranks(collective, &entries);
            conflicting.extend(
                ranks
                    .iter()
                    .filter(|ranks| ranks.shapes.is_empty())
                    .map(|ranks| {
                        format!("{collective} on {}", format_counted(ranks.first, "rank"))
                    }),
            );
            let placements = ranks.iter().filter(|rules| !rules.is_silent());
            unmeasured.extend(placements.filter_map(|rules| rules.unmeasured_placement(&counts)));
            choices.collectives.insert(collective, ranks);
        }
        choices.notes.extend(merging.assumed.iter().map(|shape| {
            format!(
                "As requested, the rules of {shape} hold for all communicators of {} ranks \
                 (--assume-shape).",
                shape.ranks()
            )
        }));
        if !unmeasured.is_empty() {
            let clauses: Vec<String> = unmeasured.into_iter().map(|(_, clause)| clause).collect();
            choices.notes.push(format!(
                "The library does not distinguish placements of as many ranks, so rules also apply to placements that \
                 were not measured: {}.",
                clauses.join("; ")
            ));
        }
        if !conflicting.is_empty() {
            choices.notes.push(format!(
                "Left to the library, since shapes with the same number of ranks have different rules and it \
                 cannot tell them apart: {}. `--assume-shape` names the shape whose rules are written.",
                conflicting.join(", ")
            ));
        }
        choices
    }

    /// Gives messages that are smaller or larger than all measured ones the nearest choice, for formats that cannot leave
    /// some sizes to the library; false if nothing is changed.
    pub(crate) fn extend_to_all_sizes(&mut self, table: &Table) -> bool {
        let mut is_extended = false;
        for (collective, all) in &mut self.collectives {
            for ranks in all {
                let measured = measured_sizes(table, *collective, ranks);
                is_extended |= ranks.extend_to_all_sizes(measured);
            }
        }
        is_extended
    }

    /// Whether the library decides everything.
    pub fn is_empty(&self) -> bool {
        self.collectives
            .values()
            .flatten()
            .all(RanksRules::is_silent)
    }
}

/// The smallest and the largest size that was measured on a shape of these rules; `None` if the table does not say.
fn measured_sizes(
    table: &Table,
    collective: Collective,
    rules: &RanksRules,
) -> Option<RangeInclusive<u64>> {
    let entries = table.collectives.get(&collective)?.iter();
    let here = entries.filter(|entry| rules.shapes.contains(&entry.shape));
    let sizes: Vec<u64> = here
        .flat_map(|entry| &entry.measured)
        .map(|point| point.bytes)
        .collect();
    Some(*sizes.iter().min()?..=*sizes.iter().max()?)
}

/// Major and minor version number of a release.
pub(crate) fn release_series(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit());
    let mut next = || numbers.next()?.parse().ok();
    Some((next()?, next()?))
}

/// The release of a library to write for, from a series that the format supports.
pub(crate) fn choose_release(
    library: LibraryName,
    format: &dyn Format,
    knows: impl Fn((u32, u32)) -> bool,
    table: &Table,
    options: &Options,
) -> Result<Library, ExportError> {
    let measured = &table.provenance.library;
    let is_it = measured.name == library.name();
    let other = |other_library: String| ExportError::OtherLibrary {
        library: other_library,
        measured: measured.to_string(),
    };
    let is_unknown =
        measured.name != Library::SIMULATED && libraries::find_library(&measured.name).is_none();
    if is_unknown && !options.stock {
        return Err(ExportError::UnknownLibrary {
            measured: measured.to_string(),
            format: format.name(),
            releases: format.releases(),
        });
    }
    if !is_it && !options.stock {
        return Err(other(library.facts().title.to_owned()));
    }
    let version = options.version.as_ref();
    let version = version.or(is_it.then_some(&measured.version));
    let version = version.cloned().ok_or_else(|| ExportError::NoRelease {
        library: library.facts().title,
        measured: measured.to_string(),
    })?;
    if !release_series(&version).is_some_and(knows) {
        return Err(ExportError::UnknownRelease {
            format: format.name(),
            version,
            known: format.releases(),
        });
    }
    let library = Library {
        name: library.name().to_owned(),
        version,
    };
    match (options.stock, is_about(table, &library)) {
        (false, false) => Err(other(library.to_string())),
        (true, true) => Err(ExportError::NeedlessStock(format!(
            "the table was measured with {measured}, and has rules for {library}"
        ))),
        _ => Ok(library),
    }
}

/// Whether a table's decisions hold for a library: both must be of the same series of releases.
fn is_about(table: &Table, library: &Library) -> bool {
    let measured = &table.provenance.library;
    measured.name == library.name
        && release_series(&measured.version) == release_series(&library.version)
}

/// The merging of rules of shapes with the same number of ranks.
struct RankMerging {
    operators: OperatorClass,
    /// The shapes whose rules alone are used for their numbers of ranks (`--assume-shape`).
    assumed: Vec<CommShape>,
    extrapolate: bool,
}

impl RankMerging {
    /// The rules of each number of ranks, by ascending number.
    fn by_ranks(&self, collective: Collective, entries: &[&ShapeRules]) -> Vec<RanksRules> {
        let mut all_places: BTreeMap<u32, BTreeSet<(CommShape, RankOrder)>> = BTreeMap::new();
        for entry in entries {
            let shape = entry.shape;
            let of_ranks = all_places.entry(shape.ranks()).or_default();
            of_ranks.insert((shape, entry.order.on_shape(shape)));
        }
        let left_to_library = vec![LibraryRule::left_to_library(0)];
        let mut all: Vec<RanksRules> = Vec::new();
        for (ranks, mut places) in all_places {
            let is_assumed = |shape: &CommShape| shape.ranks() == ranks;
            if let Some(assumed) = self.assumed.iter().copied().find(is_assumed) {
                places.retain(|(shape, _)| *shape == assumed);
            }
            let found: Vec<Option<&ShapeRules>> = places
                .iter()
                .map(|(shape, order)| self.find_entry(collective, entries, *shape, *order))
                .collect();
            if found.iter().all(Option::is_none) {
                continue;
            }
            let mut said: Vec<Vec<LibraryRule>> = found
                .into_iter()
                .map(|entry| entry.map_or_else(|| left_to_library.clone(), library_rules))
                .collect();
            said.dedup();
            let mut shapes: Vec<CommShape> = places.into_iter().map(|(shape, _)| shape).collect();
            shapes.dedup();
            let (shapes, choices) = match <[_; 1]>::try_from(said) {
                Ok([choices]) => (shapes, choices),
                Err(_) => (Vec::new(), left_to_library.clone()),
            };
            if let Some(before) = all.last_mut().filter(|_| self.extrapolate) {
                before.last = ranks - 1;
            }
            all.push(RanksRules {
                first: ranks,
                last: ranks,
                shapes,
                choices,
            });
        }
        all
    }

    /// The entry for a shape with ranks in the given order.
    fn find_entry<'t>(
        &self,
        collective: Collective,
        entries: &[&'t ShapeRules],
        shape: CommShape,
        order: RankOrder,
    ) -> Option<&'t ShapeRules> {
        let combines = collective.is_reduction();
        let of_shape = || {
            entries.iter().copied().filter(move |entry| {
                entry.shape == shape
                    && entry.holds_for_order(order)
                    && (!combines || entry.operators.hold_for(self.operators))
            })
        };
        let exact = of_shape().find(|entry| entry.deployments.hold_for(Deployment::Library));
        exact.or_else(|| of_shape().find(|entry| entry.deployments == Deployments::Colltune))
    }
}

/// The choices of an entry that the library can be given.
fn library_rules(entry: &ShapeRules) -> Vec<LibraryRule> {
    let choice = |rule: &Rule| {
        let native = match &rule.candidate {
            Candidate::Native { parameters, .. } => Some(Native {
                id: rule.candidate.id().to_owned(),
                segment_bytes: parameters.segment_bytes,
                fanout: parameters.fanout,
                max_requests: parameters.max_requests,
            }),
            _ => None,
        };
        LibraryRule {
            from_bytes: rule.from_bytes,
            native,
        }
    };
    let mut choices: Vec<LibraryRule> = entry.rules.iter().map(choice).collect();
    choices.dedup_by(|next, before| next.native == before.native);
    choices
}

//! What of a table one library can be told.

use std::collections::{BTreeMap, BTreeSet};

use libraries::LibraryName;
use schedule::Collective;
use table::{Deployment, Deployments, OperatorClass, Rule, RuleSource, ShapeRules, Table};
use vocabulary::{Candidate, CommShape, Library, RankOrder};

use crate::{ExportError, Format, Options};

/// One of the library's own algorithms, with its parameters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Native {
    /// Its id, as the library spells it.
    pub id: String,
    /// Size of its segments in bytes; the library's choice if absent.
    pub segment_bytes: Option<u64>,
    /// Its fanout; the library's choice if absent.
    pub fanout: Option<u32>,
}

/// What is chosen from a message size on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryRule {
    /// The smallest message, as [`table::message_size`] defines it.
    pub from_bytes: u64,
    /// The algorithm; the library decides for itself if absent.
    pub native: Option<Native>,
}

/// What is chosen for communicators of some numbers of ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RanksRules {
    /// The number of ranks that was measured: the smallest.
    pub first: u32,
    /// The largest, included: the smallest too, or, if the policy extrapolates, the one before the next
    /// that was measured. Nothing is said about communicators larger than all that were measured.
    pub last: u32,
    /// The shapes on `first` ranks whose rules these are; empty if the measured ones disagree, so that the
    /// library decides.
    pub shapes: Vec<CommShape>,
    /// The rules by ascending size, from 0; neighbours differ.
    pub choices: Vec<LibraryRule>,
}

impl RanksRules {
    /// What is chosen for a message.
    pub fn at(&self, bytes: u64) -> Option<&Native> {
        let holds = |choice: &&LibraryRule| choice.from_bytes <= bytes;
        self.choices.iter().rfind(holds)?.native.as_ref()
    }

    /// The choices for a number of ranks, among several.
    pub(crate) fn governing(all: &[Self], ranks: u32) -> Option<&Self> {
        all.iter()
            .find(|rules| (rules.first..=rules.last).contains(&ranks))
    }

    /// Where files are compared with the rules, in bytes and ranks: at every threshold, to either side of it and at
    /// further sizes, on the fewest and the most ranks, and on one rank less and more.
    pub(crate) fn points(
        &self,
        further: impl IntoIterator<Item = u64>,
    ) -> impl Iterator<Item = (u64, u32)> {
        let Self { first, last, .. } = *self;
        let thresholds = self.choices.iter().map(|choice| choice.from_bytes);
        let sizes = thresholds.flat_map(|at| [at.saturating_sub(1), at, at + 1]);
        let ranks = [first.saturating_sub(1), first, last, last + 1];
        let sizes = sizes.chain(further);
        sizes.flat_map(move |bytes| ranks.map(|ranks| (bytes, ranks)))
    }

    /// Whether the library decides about all sizes.
    pub(crate) fn is_silent(&self) -> bool {
        self.choices.iter().all(|choice| choice.native.is_none())
    }

    /// Each choice with where it ends (excluded).
    pub(crate) fn ranges(&self) -> impl Iterator<Item = (&LibraryRule, Option<u64>)> {
        let later = self.choices.iter().skip(1);
        let ends = later.map(|next| Some(next.from_bytes)).chain([None]);
        self.choices.iter().zip(ends)
    }

    /// Puts in its place what `choose` makes of each choice, given where it ends (excluded).
    pub(crate) fn rewrite(
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

/// All that a library can be told, for one class of operators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// For each collective by ascending ranks.
    pub collectives: BTreeMap<Collective, Vec<RanksRules>>,
    /// What must be known to deploy it, each a full sentence.
    pub notes: Vec<String>,
}

impl Choices {
    /// What a table says to a library for operators of a class.
    ///
    /// Decisions for the library's own settings are taken; where a table has none, the entries for
    /// colltune, as far as they name the library's own algorithms. Libraries do not tell shapes with equally
    /// many ranks apart, nor orders of ranks: all that were measured have to say the same, or the options
    /// name one to go by. Numbers of ranks between measured ones are told as [`Table::lookup`] interpolates them, if
    /// the table was deployed with times of candidates. Where the table is about another library or series of releases, nothing is said.
    pub fn of(
        table: &Table,
        library: &Library,
        operators: OperatorClass,
        options: &Options,
    ) -> Self {
        Self::of_shapes(table, library, operators, options, |_| true)
    }

    /// The same from some shapes alone.
    pub fn of_shapes(
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
                "The table was measured with {measured}, so none of its rules is written: {library} decides as it does \
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
        let told = Told {
            operators,
            assumed: assumed.filter(|shape| counts(*shape)).collect(),
            extrapolate: options.policy.extrapolate,
        };
        let mut torn = Vec::new();
        for (&collective, entries) in &table.collectives {
            // Rules of the model are not confirmed.
            let is_of_use = |entry: &&ShapeRules| {
                counts(entry.shape)
                    && (entry.source == RuleSource::Measured || options.policy.unconfirmed)
            };
            let mut entries: Vec<&ShapeRules> = entries.iter().filter(is_of_use).collect();
            let interpolated = table.written_out(collective);
            // What was measured on as many ranks goes before what was not.
            let ranks: BTreeSet<u32> = entries.iter().map(|entry| entry.shape.ranks()).collect();
            entries.extend(interpolated.iter().filter(|entry| {
                counts(entry.shape)
                    && entry.deployments.cover(Deployment::Library)
                    && !ranks.contains(&entry.shape.ranks())
            }));
            let ranks = told.by_ranks(collective, &entries);
            torn.extend(
                ranks
                    .iter()
                    .filter(|ranks| ranks.shapes.is_empty())
                    .map(|ranks| {
                        format!("{collective} on {}", counted(ranks.first as usize, "rank"))
                    }),
            );
            choices.collectives.insert(collective, ranks);
        }
        choices.notes.extend(told.assumed.iter().map(|shape| {
            format!(
                "As asked for, the rules of {shape} hold for all communicators of {} ranks \
                 (--assume-shape).",
                shape.ranks()
            )
        }));
        if !torn.is_empty() {
            choices.notes.push(format!(
                "Left to the library, since shapes with the same number of ranks have different rules and it \
                 cannot tell them apart: {}. `--assume-shape` names the shape whose rules are written.",
                torn.join(", ")
            ));
        }
        choices
    }

    /// Whether the library decides everything for itself.
    pub fn is_empty(&self) -> bool {
        self.collectives
            .values()
            .flatten()
            .all(RanksRules::is_silent)
    }
}

/// Major and minor number of a release.
pub(crate) fn series(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit());
    let mut next = || numbers.next()?.parse().ok();
    Some((next()?, next()?))
}

/// The release of a library to write for, of a series that the format knows.
pub(crate) fn release(
    library: LibraryName,
    format: &dyn Format,
    knows: impl Fn((u32, u32)) -> bool,
    table: &Table,
    options: &Options,
) -> Result<Library, ExportError> {
    let measured = &table.provenance.library;
    let is_it = measured.name == library.name();
    let other = |library: String| ExportError::OtherLibrary {
        library,
        measured: measured.to_string(),
    };
    if !is_it && !options.stock {
        return Err(other(library.facts().title.to_owned()));
    }
    let version = options.version.as_ref();
    let version = version.or(is_it.then_some(&measured.version));
    let version = version.cloned().ok_or_else(|| ExportError::NoRelease {
        library: library.facts().title,
        measured: measured.to_string(),
    })?;
    if !series(&version).is_some_and(knows) {
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
    if !options.stock && !is_about(table, &library) {
        return Err(other(library.to_string()));
    }
    Ok(library)
}

/// Whether a table's decisions hold for a library: they do within a series of its releases.
fn is_about(table: &Table, library: &Library) -> bool {
    let measured = &table.provenance.library;
    measured.name == library.name && series(&measured.version) == series(&library.version)
}

/// A number with its noun, as in "1 rule" and "2 rules".
pub(crate) fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

/// How the rules of shapes with the same number of ranks are put together.
struct Told {
    operators: OperatorClass,
    /// The shapes that alone count for their numbers of ranks.
    assumed: Vec<CommShape>,
    extrapolate: bool,
}

impl Told {
    /// The rules of each number of ranks, by ascending number.
    fn by_ranks(&self, collective: Collective, entries: &[&ShapeRules]) -> Vec<RanksRules> {
        let mut places: BTreeMap<u32, BTreeSet<(CommShape, RankOrder)>> = BTreeMap::new();
        for entry in entries {
            let shape = entry.shape;
            let of_ranks = places.entry(shape.ranks()).or_default();
            of_ranks.insert((shape, entry.order.on(shape)));
        }
        let mut all: Vec<RanksRules> = Vec::new();
        for (ranks, mut places) in places {
            let is_assumed = |shape: &CommShape| shape.ranks() == ranks;
            if let Some(assumed) = self.assumed.iter().copied().find(is_assumed) {
                places.retain(|(shape, _)| *shape == assumed);
            }
            let found: Vec<Option<&ShapeRules>> = places
                .iter()
                .map(|(shape, order)| self.entry(collective, entries, *shape, *order))
                .collect();
            if found.iter().all(Option::is_none) {
                continue;
            }
            let mut said: Vec<Vec<LibraryRule>> = found
                .into_iter()
                .map(|entry| entry.map_or_else(silence, of_entry))
                .collect();
            said.dedup();
            let mut shapes: Vec<CommShape> = places.into_iter().map(|(shape, _)| shape).collect();
            shapes.dedup();
            let (shapes, choices) = match <[_; 1]>::try_from(said) {
                Ok([choices]) => (shapes, choices),
                Err(_) => (Vec::new(), silence()),
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

    /// The entry for a shape whose ranks stand in an order.
    fn entry<'t>(
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
                    && entry.is_in(order)
                    && (!combines || entry.operators.cover(self.operators))
            })
        };
        let exact = of_shape().find(|entry| entry.deployments.cover(Deployment::Library));
        exact.or_else(|| of_shape().find(|entry| entry.deployments == Deployments::Colltune))
    }
}

/// Leaves all sizes to the library.
fn silence() -> Vec<LibraryRule> {
    vec![LibraryRule {
        from_bytes: 0,
        native: None,
    }]
}

/// The choices of an entry, as far as the library can be told.
fn of_entry(entry: &ShapeRules) -> Vec<LibraryRule> {
    let choice = |rule: &Rule| {
        let native = match &rule.candidate {
            Candidate::Native { parameters, .. } => Some(Native {
                id: rule.candidate.id().to_owned(),
                segment_bytes: parameters.segment_bytes,
                fanout: parameters.fanout,
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

//! What of a table one library can be told.

use std::collections::{BTreeMap, BTreeSet};

use libraries::LibraryName;
use schedule::Collective;
use table::{Deployment, Deployments, OperatorClass, Rule, ShapeRules, Table};
use vocabulary::{Candidate, CommShape, Library};

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
pub struct Choice {
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
    /// The largest, included: the one before the next that was measured; nothing is said about
    /// communicators larger than all that were measured.
    pub last: u32,
    /// The shape that was measured.
    pub shape: CommShape,
    /// By ascending size, from 0; neighbours differ.
    pub choices: Vec<Choice>,
}

impl RanksRules {
    /// What is chosen for a message.
    pub fn at(&self, bytes: u64) -> Option<&Native> {
        let holds = |choice: &&Choice| choice.from_bytes <= bytes;
        self.choices.iter().rfind(holds)?.native.as_ref()
    }

    /// Whether the library decides about all sizes.
    pub(crate) fn is_silent(&self) -> bool {
        self.choices.iter().all(|choice| choice.native.is_none())
    }

    /// Each choice with where it ends (excluded).
    pub(crate) fn ranges(&self) -> impl Iterator<Item = (&Choice, Option<u64>)> {
        let later = self.choices.iter().skip(1);
        let ends = later.map(|next| Some(next.from_bytes)).chain([None]);
        self.choices.iter().zip(ends)
    }

    /// Puts in its place what `choose` makes of each choice, given where it ends (excluded).
    pub(crate) fn rewrite(&mut self, choose: impl Fn(&Choice, Option<u64>) -> Vec<Choice>) {
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
    /// What whoever deploys this must know, each a full sentence.
    pub notes: Vec<String>,
}

impl Choices {
    /// What a table says to a library for operators of a class.
    ///
    /// Decisions for the library's own settings are taken; where a table has none, the entries for
    /// colltune, as far as they name the library's own algorithms. Of shapes with equally many
    /// ranks, which libraries do not tell apart, the one on the most nodes counts. Where the table is
    /// about another library or series of releases, nothing is said.
    pub fn of(table: &Table, library: &Library, operators: OperatorClass) -> Self {
        Self::of_shapes(table, library, operators, |_| true)
    }

    /// The same from some shapes alone.
    pub fn of_shapes(
        table: &Table,
        library: &Library,
        operators: OperatorClass,
        counts: impl Fn(CommShape) -> bool,
    ) -> Self {
        let mut choices = Self::default();
        let measured = &table.provenance.library;
        if measured.name != library.name || series(&measured.version) != series(&library.version) {
            let rules = table.entries().flat_map(|entry| &entry.rules);
            let left_out = rules.filter(|rule| rule.candidate != Candidate::Default);
            choices.notes.push(format!(
                "The table is about {measured}, not about {library}, whose own decisions therefore \
                 stay as they are: left out are {}.",
                counted(left_out.count(), "rule")
            ));
            return choices;
        }
        if measured.version != library.version {
            choices.notes.push(format!(
                "Measured with {measured}, written for {library}: check it before you rely on it."
            ));
        }
        let mut left_out = 0;
        for (&collective, entries) in &table.collectives {
            let entries = entries.iter().filter(|entry| counts(entry.shape)).collect();
            let (by_ranks, conflicts) = by_ranks(collective, entries, operators);
            choices.notes.extend(conflicts);
            let firsts: Vec<u32> = by_ranks.keys().copied().collect();
            let rules = by_ranks
                .into_iter()
                .zip(1..)
                .map(|((first, entry), next)| RanksRules {
                    first,
                    last: firsts.get(next).map_or(first, |next| next - 1),
                    shape: entry.shape,
                    choices: of_entry(entry, &mut left_out),
                });
            choices.collectives.insert(collective, rules.collect());
        }
        if left_out > 0 {
            choices.notes.push(format!(
                "Left out: {} that only colltune can carry out, where the table has no decision for \
                 the library's own settings; the library decides for itself there.",
                counted(left_out, "rule")
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
    Ok(Library {
        name: library.name().to_owned(),
        version,
    })
}

/// As in "1 rule" and "2 rules".
pub(crate) fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

/// One entry a number of ranks, and what there is to be said about others.
fn by_ranks<'t>(
    collective: Collective,
    entries: Vec<&'t ShapeRules>,
    operators: OperatorClass,
) -> (BTreeMap<u32, &'t ShapeRules>, Vec<String>) {
    let combines = collective.is_reduction();
    let covers = |entry: &&'t ShapeRules| !combines || entry.operators.cover(operators);
    let shapes: BTreeSet<CommShape> = entries.iter().map(|entry| entry.shape).collect();
    let of_shape = |shape: CommShape| {
        let covering = || entries.iter().copied().filter(covers);
        let of_shape = || covering().filter(|entry| entry.shape == shape);
        let exact = of_shape().find(|entry| entry.deployments.cover(Deployment::Library));
        exact.or_else(|| of_shape().find(|entry| entry.deployments == Deployments::Colltune))
    };
    let mut chosen: BTreeMap<u32, &ShapeRules> = BTreeMap::new();
    let mut notes = Vec::new();
    // By ascending nodes, so that the last one of as many ranks is on the most.
    for entry in shapes.into_iter().filter_map(of_shape) {
        let Some(before) = chosen.insert(entry.shape.ranks(), entry) else {
            continue;
        };
        let names = |entry: &ShapeRules| -> Vec<(u64, String)> {
            let rules = entry.rules.iter();
            rules
                .map(|rule| (rule.from_bytes, rule.candidate.to_string()))
                .collect()
        };
        if names(before) != names(entry) {
            notes.push(format!(
                "{collective} on {} and on {} is decided differently, but the library cannot tell \
                 them apart: the rules are those of {}, on more nodes.",
                before.shape, entry.shape, entry.shape
            ));
        }
    }
    (chosen, notes)
}

/// The choices of an entry; counts what the library cannot be told.
fn of_entry(entry: &ShapeRules, left_out: &mut usize) -> Vec<Choice> {
    let mut choice = |rule: &Rule| {
        let native = match &rule.candidate {
            Candidate::Native { parameters, .. } => Some(Native {
                id: rule.candidate.id().to_owned(),
                segment_bytes: parameters.segment_bytes,
                fanout: parameters.fanout,
            }),
            Candidate::Default => None,
            _ => {
                *left_out += 1;
                None
            }
        };
        Choice {
            from_bytes: rule.from_bytes,
            native,
        }
    };
    let mut choices: Vec<Choice> = entry.rules.iter().map(&mut choice).collect();
    choices.dedup_by(|next, before| next.native == before.native);
    choices
}

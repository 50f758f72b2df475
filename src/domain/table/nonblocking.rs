//! The section of a table with rules for nonblocking calls.
//!
//! It is a table of its own within the file: a campaign measures nonblocking calls in patterns of their own
//! ([`Pattern::is_nonblocking`]), often at another time than the blocking ones. Both are about one library.

use schedule::Collective;
use vocabulary::{Candidate, NONBLOCKING, Pattern, Through};

use crate::parse::{Checked, Place};
use crate::{Problem, ShapeRules, Table};

impl Table {
    /// Whether the rules were measured with nonblocking calls, so that they belong into the section of another table.
    pub fn is_of_nonblocking_calls(&self) -> bool {
        self.provenance.pattern.is_nonblocking()
    }

    /// Whether there are rules, for blocking or nonblocking calls; a withdrawn table has none.
    pub fn has_rules(&self) -> bool {
        !self.collectives.is_empty() || self.nonblocking.is_some()
    }

    /// The rules for blocking calls, then those for nonblocking ones if there are any, each as a table.
    pub fn blocking_and_nonblocking(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.nonblocking.as_deref())
    }

    /// The table to be written in place of an earlier one: decisions about nonblocking calls become its section, and leave
    /// its other rules as they are; decisions about blocking ones leave the section. What was measured with another library
    /// or on other nodes is left out.
    #[must_use]
    pub fn join_with_replaced(self, before: Option<&Self>) -> Self {
        let kept = before.filter(|before| self.is_for_same_system(before));
        if !self.is_of_nonblocking_calls() {
            let nonblocking = kept.and_then(|table| table.nonblocking.clone());
            return Self {
                nonblocking,
                ..self
            };
        }
        let blocking = kept.filter(|table| !table.collectives.is_empty());
        let around = blocking.cloned().unwrap_or_else(|| Self {
            name: self.name.clone(),
            provenance: self.provenance.clone(),
            collectives: [].into(),
            verdicts: Vec::new(),
            nonblocking: None,
        });
        let section = Self {
            name: around.name.clone(),
            verdicts: Vec::new(),
            ..self
        };
        Self {
            nonblocking: Some(Box::new(section)),
            ..around
        }
    }

    /// Whether both tables are for one library, and for nodes of one type.
    fn is_for_same_system(&self, other: &Self) -> bool {
        let (own, others) = (&self.provenance, &other.provenance);
        own.library == others.library && others.has_same_nodes(own)
    }

    /// The part of a table that decisions like this one's replace in [`Self::join_with_replaced`], if there is one; all of a
    /// table for another library or type of node.
    pub fn replaced_part<'t>(&self, before: &'t Self) -> Option<&'t Self> {
        if !self.is_for_same_system(before) {
            Some(before)
        } else if self.is_of_nonblocking_calls() {
            before.nonblocking.as_deref()
        } else {
            Some(before).filter(|table| !table.is_of_nonblocking_calls())
        }
    }
}

/// Checks what is particular to the section, besides the rules that hold for all tables.
pub(crate) fn check_section(place: &Place<'_>, around: &Table, section: &Table) -> Checked<()> {
    let of_provenance = place.key("provenance");
    if section.provenance.library != around.provenance.library {
        let problem = Problem::OtherLibraryInSection {
            section: section.provenance.library.to_string(),
            table: around.provenance.library.to_string(),
        };
        return Err(of_provenance.key("library").problem_here(problem));
    }
    let pattern = section.provenance.pattern;
    if pattern != Pattern::Nonblocking {
        let problem = Problem::PatternOfSection { pattern };
        return Err(of_provenance.problem_here(problem));
    }
    let place = place.key("collectives");
    if section.collectives.is_empty() {
        let remedy = "remove `nonblocking`: without it the library carries out nonblocking calls";
        let key = "collectives";
        return Err(place.problem_here(Problem::Empty { key, remedy }));
    }
    for (&collective, entries) in &section.collectives {
        let place = place.key(collective.name());
        if !NONBLOCKING.contains(&collective) {
            return Err(place.at_key(Problem::NoNonblockingRules { collective }));
        }
        check_candidates(&place.key("shapes"), collective, entries)?;
    }
    Ok(())
}

/// All messages of nonblocking calls go through MPI, and the library's own algorithms cannot be chosen for them.
fn check_candidates(
    place: &Place<'_>,
    collective: Collective,
    entries: &[ShapeRules],
) -> Checked<()> {
    for (index, entry) in entries.iter().enumerate() {
        let place = place.index(index).key("rules");
        for (rule, number) in entry.rules.iter().zip(0..) {
            let place = place.index(number);
            let candidate = &rule.candidate;
            if *candidate != Candidate::Default && !candidate.is_ours() {
                let candidate = candidate.to_string();
                return Err(place.problem_here(Problem::NotForNonblocking {
                    candidate,
                    collective,
                }));
            }
            if candidate.parameters().through == Through::Shared {
                return Err(place
                    .key("through")
                    .problem_here(Problem::SharedNonblocking));
            }
        }
    }
    Ok(())
}

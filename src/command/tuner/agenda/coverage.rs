//! The number of launches in which a store has measured the items of an agenda.

use std::collections::{BTreeMap, BTreeSet};

use store::Store;
use vocabulary::{Candidate, Library, Pattern, Subject};

use crate::TunerError;

/// A store's measurements of a library, counted by subject and candidate.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    counts: BTreeMap<(Subject, Candidate), u32>,
    failed: BTreeSet<(Subject, Candidate)>,
}

impl Coverage {
    /// Counts measurements in this pattern of calls. A candidate that failed in any pattern counts as failed.
    pub(crate) fn from_store(
        store: &Store,
        library: &Library,
        pattern: Pattern,
    ) -> Result<Self, TunerError> {
        let failures = store.failures(library)?.into_iter();
        Ok(Self {
            counts: store.launch_counts(library, pattern)?,
            failed: failures
                .map(|failure| (failure.subject, failure.candidate))
                .collect(),
        })
    }

    /// The number of launches that measured the subject with all candidates that have not failed, each by itself or
    /// under the name of a candidate merged with it. `None` if no candidate is left or the default failed.
    pub(super) fn launches_with_all(
        &self,
        subject: Subject,
        candidates: &[Candidate],
        merged: &[(Candidate, Candidate)],
    ) -> Option<u32> {
        let able = self.without_failed(subject, candidates);
        let default_failed = self.failed.contains(&(subject, Candidate::Default));
        let count = |c: &Candidate| self.counts.get(&(subject, c.clone())).copied().unwrap_or(0);
        let counts = able.map(|candidate| {
            let others = merged.iter().filter(|(_, simplest)| simplest == candidate);
            let most = others.map(|(other, _)| count(other)).max();
            count(candidate).max(most.unwrap_or(0))
        });
        counts.min().filter(|_| !default_failed)
    }

    /// The number of launches that measured the subject with any of the candidates.
    pub(super) fn launches_with_any(&self, subject: Subject, candidates: &[Candidate]) -> u32 {
        let counts = candidates
            .iter()
            .filter_map(|c| self.counts.get(&(subject, c.clone())));
        counts.copied().max().unwrap_or(0)
    }

    /// The candidates that have not failed with the subject.
    pub(super) fn without_failed<'a>(
        &'a self,
        subject: Subject,
        candidates: &'a [Candidate],
    ) -> impl Iterator<Item = &'a Candidate> {
        candidates
            .iter()
            .filter(move |c| !self.failed.contains(&(subject, (*c).clone())))
    }
}

//! How often a store has measured what an agenda asks for.

use std::collections::{BTreeMap, BTreeSet};

use store::Store;
use vocabulary::{Candidate, Library, Pattern, Subject};

use crate::TunerError;

/// What a store has of a library.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    counts: BTreeMap<(Subject, Candidate), u32>,
    failed: BTreeSet<(Subject, Candidate)>,
}

impl Coverage {
    /// What was measured in calls of this pattern. A candidate that failed in one pattern is not tried in another.
    pub(crate) fn of(
        store: &Store,
        library: &Library,
        pattern: Pattern,
    ) -> Result<Self, TunerError> {
        let failures = store.failures(library)?.into_iter();
        Ok(Self {
            counts: store.counts(library, pattern)?,
            failed: failures
                .map(|failure| (failure.subject, failure.candidate))
                .collect(),
        })
    }

    /// Launches that measured the subject with all the candidates that have not failed, or with one of
    /// the merged that each stands for; nothing if no candidate is left to compare.
    pub(super) fn launches(
        &self,
        subject: Subject,
        candidates: &[Candidate],
        merged: &[(Candidate, Candidate)],
    ) -> Option<u32> {
        let able = self.able(subject, candidates);
        let default_failed = self.failed.contains(&(subject, Candidate::Default));
        let count = |c: &Candidate| self.counts.get(&(subject, c.clone())).copied().unwrap_or(0);
        let counts = able.map(|candidate| {
            let others = merged.iter().filter(|(_, simplest)| simplest == candidate);
            let most = others.map(|(other, _)| count(other)).max();
            count(candidate).max(most.unwrap_or(0))
        });
        counts.min().filter(|_| !default_failed)
    }

    /// Launches that measured the subject with any of the candidates.
    pub(super) fn rounds(&self, subject: Subject, candidates: &[Candidate]) -> u32 {
        let counts = candidates
            .iter()
            .filter_map(|c| self.counts.get(&(subject, c.clone())));
        counts.copied().max().unwrap_or(0)
    }

    /// The candidates that have not failed with the subject.
    pub(super) fn able<'a>(
        &'a self,
        subject: Subject,
        candidates: &'a [Candidate],
    ) -> impl Iterator<Item = &'a Candidate> {
        candidates
            .iter()
            .filter(move |c| !self.failed.contains(&(subject, (*c).clone())))
    }
}

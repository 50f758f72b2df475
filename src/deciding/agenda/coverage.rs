//! The number of launches in which a campaign's items were measured.

use std::collections::{BTreeMap, BTreeSet};

use vocabulary::{Candidate, Subject};

use crate::History;

/// The exploring measurements of a history, counted by subject and candidate.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Coverage {
    counts: BTreeMap<(Subject, Candidate), u32>,
    failed: BTreeSet<(Subject, Candidate)>,
}

impl Coverage {
    /// Counts the launches. A candidate that failed in any pattern of calls counts as failed.
    pub(crate) fn from_history(history: &History) -> Self {
        let mut launches: BTreeMap<(Subject, &Candidate), BTreeSet<u32>> = BTreeMap::new();
        for sample in &history.explored {
            let of_candidate = launches.entry((sample.subject, &sample.candidate));
            of_candidate.or_default().insert(sample.launch);
        }
        let counts = launches
            .into_iter()
            .map(|((subject, candidate), of)| ((subject, candidate.clone()), of.len() as u32));
        Self {
            counts: counts.collect(),
            failed: history.failures.iter().cloned().collect(),
        }
    }

    /// The number of launches that measured a candidate.
    pub(crate) fn launches_of(&self, subject: Subject, candidate: &Candidate) -> u32 {
        let count = self.counts.get(&(subject, candidate.clone()));
        count.copied().unwrap_or(0)
    }

    /// The number of launches that measured the subject with all candidates that have not failed, each by itself or
    /// under the name of a candidate merged with it. `None` if no candidate is left or the default failed.
    pub(crate) fn launches_with_all(
        &self,
        subject: Subject,
        candidates: &[Candidate],
        merged: &[(Candidate, Candidate)],
    ) -> Option<u32> {
        let able = self.without_failed(subject, candidates);
        let default_failed = self.failed.contains(&(subject, Candidate::Default));
        let count = |c: &Candidate| self.launches_of(subject, c);
        let counts = able.map(|candidate| {
            let others = merged.iter().filter(|(_, simplest)| simplest == candidate);
            let most = others.map(|(other, _)| count(other)).max();
            count(candidate).max(most.unwrap_or(0))
        });
        counts.min().filter(|_| !default_failed)
    }

    /// The number of launches that measured the subject with any of the candidates.
    pub(crate) fn launches_with_any(&self, subject: Subject, candidates: &[Candidate]) -> u32 {
        let counts = candidates
            .iter()
            .filter_map(|c| self.counts.get(&(subject, c.clone())));
        counts.copied().max().unwrap_or(0)
    }

    /// The candidates that have not failed with the subject.
    pub(crate) fn without_failed<'a>(
        &'a self,
        subject: Subject,
        candidates: &'a [Candidate],
    ) -> impl Iterator<Item = &'a Candidate> {
        candidates
            .iter()
            .filter(move |c| !self.failed.contains(&(subject, (*c).clone())))
    }
}

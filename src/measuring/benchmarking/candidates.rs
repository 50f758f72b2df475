//! Races between the candidates of a cell, as used in plans and records.

use vocabulary::{Candidate, Elimination, Racing, Repetition};

use crate::{Race, RaceRules, Role};

impl Race {
    /// A race of these candidates. The default, with which all others are compared, stays to the end; without `racing`
    /// all do.
    pub fn between_candidates<'a>(
        candidates: impl IntoIterator<Item = &'a Candidate>,
        racing: Option<Racing>,
        wanted: Repetition,
    ) -> Self {
        let mut rules = RaceRules::default();
        if let Some(Racing { materiality }) = racing {
            rules.materiality = materiality;
        }
        let role = |candidate: &Candidate| match candidate {
            Candidate::Default => Role::Reference,
            _ if racing.is_none() => Role::Reference,
            _ => Role::Contender,
        };
        let roles: Vec<Role> = candidates.into_iter().map(role).collect();
        Self::new(&roles, rules, wanted)
    }

    /// The elimination of each entrant, if any, in the order in which they entered. `indices` are the entrants' places
    /// among the task's candidates.
    pub fn eliminations_by_entrant(&self, indices: &[u32]) -> Vec<Option<Elimination>> {
        let mut left = vec![None; indices.len()];
        for &(entrant, how) in self.leavers() {
            let leader = indices[how.leader as usize];
            left[entrant] = Some(Elimination { leader, ..how });
        }
        left
    }
}

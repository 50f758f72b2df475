//! One entry of two tables, compared range by range.

use std::collections::BTreeSet;

use statistics::geometric_mean;
use vocabulary::Candidate;

use super::{Change, ChosenRange, Group, Side};
use crate::{Confidence, Decision, Deployments, Operators, Query, ShapeMatch, ShapeRules, Table};

/// A query to both tables, without a size.
pub(super) struct EntryPair<'t> {
    tables: [&'t Table; 2],
    query: Query,
    /// The entries that answer, if they are for exactly this shape.
    found: [Option<&'t ShapeRules>; 2],
}

/// The outcome of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    Absent,
    Only(Side),
    /// The changes, with this shape in their groups; operators and deployment are set later, so that outcomes that are
    /// otherwise equal can be merged.
    Both(Vec<Change>),
}

impl<'t> EntryPair<'t> {
    pub(super) fn new(tables: [&'t Table; 2], query: Query) -> Self {
        let found = tables.map(|table| {
            let entries = table.collectives.get(&query.collective)?;
            let mut covering = entries.iter().filter(|entry| entry.holds_for_query(&query));
            covering.find(|entry| entry.shape == query.shape && entry.holds_for_order(query.order))
        });
        Self {
            tables,
            query,
            found,
        }
    }

    pub(super) fn compare(&self) -> Outcome {
        match self.found {
            [None, None] => Outcome::Absent,
            [Some(_), None] => Outcome::Only(Side::Before),
            [None, Some(_)] => Outcome::Only(Side::After),
            [Some(before), Some(after)] => Outcome::Both(self.changed_ranges([before, after])),
        }
    }

    /// The ranges in which the choices differ; adjacent ranges with the same two choices are merged.
    fn changed_ranges(&self, entries: [&ShapeRules; 2]) -> Vec<Change> {
        let starts: BTreeSet<u64> = entries
            .iter()
            .flat_map(|entry| entry.rules.iter().map(|rule| rule.from_bytes))
            .collect();
        let starts: Vec<u64> = starts.into_iter().collect();
        let pair = |bytes| {
            self.decisions_at(bytes)
                .map(|decision| decision.candidate.clone())
        };
        let mut pieces: Vec<(u64, [Candidate; 2])> = Vec::new();
        for start in starts {
            let pair = pair(start);
            if pieces.last().is_none_or(|(_, before)| *before != pair) {
                pieces.push((start, pair));
            }
        }
        let ends: Vec<Option<u64>> = pieces.iter().skip(1).map(|(from, _)| Some(*from)).collect();
        let ends = ends.into_iter().chain([None]);
        pieces
            .into_iter()
            .zip(ends)
            .filter(|((_, [before, after]), _)| before != after)
            .map(|((from, _), below)| self.change_in_range(entries, from, below))
            .collect()
    }

    fn decisions_at(&self, bytes: u64) -> [Decision<'t>; 2] {
        let query = Query {
            bytes,
            ..self.query
        };
        self.tables.map(|table| {
            let decision = table.lookup(&query);
            debug_assert!(matches!(
                decision.matched,
                ShapeMatch::Measured | ShapeMatch::Model
            ));
            decision
        })
    }

    fn change_in_range(
        &self,
        entries: [&ShapeRules; 2],
        from_bytes: u64,
        below_bytes: Option<u64>,
    ) -> Change {
        let is_inside =
            |bytes: &u64| *bytes >= from_bytes && below_bytes.is_none_or(|below| *bytes < below);
        let measured = entries.iter().flat_map(|entry| &entry.measured);
        let mut sizes: BTreeSet<u64> = measured
            .map(|point| point.bytes)
            .filter(is_inside)
            .collect();
        if sizes.is_empty() {
            sizes.insert(from_bytes);
        }
        let decisions: Vec<[Decision<'t>; 2]> = sizes
            .iter()
            .map(|bytes| self.decisions_at(*bytes))
            .collect();
        let choice = |side: usize| ChosenRange {
            candidate: decisions[0][side].candidate.clone(),
            speedup: {
                let speedups = decisions.iter().map(|pair| pair[side].speedup);
                let known: Option<Vec<f64>> = speedups.collect();
                known.and_then(geometric_mean)
            },
            confidence: decisions
                .iter()
                .map(|pair| pair[side].confidence)
                .min()
                .unwrap_or(Confidence::Low),
        };
        let (before, after) = (choice(0), choice(1));
        Change {
            group: Group {
                collective: self.query.collective,
                shape: self.query.shape,
                order: self.query.order,
                operators: Operators::Any,
                deployments: Deployments::Any,
            },
            from_bytes,
            below_bytes,
            worth: after
                .speedup
                .zip(before.speedup)
                .filter(|_| after.candidate != Candidate::Default)
                .map(|(after, before)| after / before),
            before,
            after,
        }
    }
}

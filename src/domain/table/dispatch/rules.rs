//! The decisions of a table for one communicator.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::RangeInclusive;

use schedule::Collective;
use vocabulary::{Candidate, CommShape, RankOrder};

use super::group::SizeRanges;
use crate::{Deployment, OperatorClass, Query, Rule, ShapeMatch, Table};

/// A decision of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The candidate to use.
    pub candidate: Candidate,
    /// The default's time divided by the candidate's, if the table has it; 1 for the default.
    pub speedup: Option<f64>,
    /// The smallest message size in bytes that it holds for.
    pub from_bytes: u64,
}

impl Choice {
    fn from_rule(rule: &Rule) -> Self {
        Self {
            speedup: match rule.candidate {
                Candidate::Default => Some(1.0),
                _ => rule.speedup,
            },
            candidate: rule.candidate.clone(),
            from_bytes: rule.from_bytes,
        }
    }

    /// The choice without any rule.
    fn without_rule() -> Self {
        Self {
            candidate: Candidate::Default,
            speedup: Some(1.0),
            from_bytes: 0,
        }
    }
}

const CLASSES: [OperatorClass; 2] = OperatorClass::ALL;
const GROUPS: usize = Collective::ALL.len() * CLASSES.len();

/// The decisions of a table for communicators of one shape and order of ranks, for [`Deployment::Colltune`].
#[derive(Clone, Debug)]
pub struct CommunicatorRules {
    shape: CommShape,
    order: RankOrder,
    is_even: bool,
    /// Rules by collective, then class of operators.
    groups: [(SizeRanges, Box<[Choice]>); GROUPS],
    /// By group, how its shape was found in the table.
    matched: [ShapeMatch; GROUPS],
}

impl CommunicatorRules {
    /// Compiles the rules that [`Table::lookup`] finds or interpolates for the shape and the order of ranks. Unless
    /// `extrapolate` is set, a shape that only a stand-in could serve is left to the library.
    pub fn new(table: &Table, shape: CommShape, order: RankOrder, extrapolate: bool) -> Self {
        Self::compile_rules(table, (shape, order, true), extrapolate)
    }

    /// The same for communicators with fewer ranks on some nodes than on others; `shape` has the most ranks of a node.
    /// Tables have no such shapes, so even the rules of this shape are only a stand-in.
    pub fn for_uneven(
        table: &Table,
        shape: CommShape,
        order: RankOrder,
        extrapolate: bool,
    ) -> Self {
        Self::compile_rules(table, (shape, order, false), extrapolate)
    }

    fn compile_rules(
        table: &Table,
        (shape, order, is_even): (CommShape, RankOrder, bool),
        extrapolate: bool,
    ) -> Self {
        let query = |index: usize| Query {
            collective: Collective::ALL[index / CLASSES.len()],
            shape,
            order,
            bytes: 0,
            operators: CLASSES[index % CLASSES.len()],
            deployment: Deployment::Colltune,
        };
        let mut matched = [ShapeMatch::Absent; GROUPS];
        let groups = std::array::from_fn(|index| {
            let (choices, how) = choices_for_query(table, &query(index), is_even, extrapolate);
            matched[index] = how;
            let from = choices.iter().map(|choice| choice.from_bytes).collect();
            (SizeRanges::new(from), choices)
        });
        Self {
            shape,
            order,
            is_even,
            groups,
            matched,
        }
    }

    /// The shape of the communicators.
    pub fn shape(&self) -> CommShape {
        self.shape
    }

    /// The order of ranks of the communicators.
    pub fn order(&self) -> RankOrder {
        self.order
    }

    /// Whether all nodes of the communicators have the same number of ranks.
    pub fn is_even(&self) -> bool {
        self.is_even
    }

    /// Decides about a call of `bytes`, as defined by [`message_size`](crate::message_size). The class of operators is
    /// ignored where nothing is combined.
    ///
    /// The decision is that of [`Table::lookup`]; it needs no allocation and a few nanoseconds.
    #[inline]
    pub fn decide(&self, collective: Collective, operators: OperatorClass, bytes: u64) -> &Choice {
        let (group, choices) = &self.groups[group_index(collective, operators)];
        &choices[group.range_holding(bytes)]
    }

    /// All choices for a collective and a class of operators, by size.
    pub fn choices(&self, collective: Collective, operators: OperatorClass) -> &[Choice] {
        &self.groups[group_index(collective, operators)].1
    }

    /// The sizes around `bytes` at which a collective is left to the library, whatever the operator; `None` if one of ours
    /// is chosen at `bytes` for some operator.
    pub fn left_sizes(&self, collective: Collective, bytes: u64) -> Option<RangeInclusive<u64>> {
        let (mut first, mut last) = (0, u64::MAX);
        for class in CLASSES {
            let choices = self.choices(collective, class);
            let is_ours = |choice: &Choice| choice.candidate.is_ours();
            // The first choice holds from 0 bytes on, whatever it says.
            let below = choices.partition_point(|choice| choice.from_bytes <= bytes);
            let (up_to_bytes, beyond) = choices.split_at(below.max(1));
            if up_to_bytes.last().is_some_and(is_ours) {
                return None;
            }
            if let Some(place) = up_to_bytes.iter().rposition(is_ours) {
                first = first.max(up_to_bytes[place + 1].from_bytes);
            }
            if let Some(next) = beyond.iter().find(|choice| is_ours(choice)) {
                last = last.min(next.from_bytes.saturating_sub(1));
            }
        }
        Some(first..=last)
    }

    /// A checksum that differs between rules interpolated by processors with different rounding; 0 if no rule is
    /// interpolated.
    pub fn rounding_checksum(&self) -> u32 {
        let is_interpolated =
            |matched: &ShapeMatch| matches!(matched, ShapeMatch::Interpolated(..));
        if !self.matched.iter().any(is_interpolated) {
            return 0;
        }
        let mut hasher = DefaultHasher::new();
        for choice in self.groups.iter().flat_map(|(_, choices)| choices) {
            (choice.from_bytes, &choice.candidate).hash(&mut hasher);
        }
        1 + (hasher.finish() >> 34) as u32
    }

    /// How the shape and the order of ranks were found in the table. A stand-in is used only if the rules extrapolate.
    pub fn shape_match(&self, collective: Collective, operators: OperatorClass) -> ShapeMatch {
        self.matched[group_index(collective, operators)]
    }
}

#[inline]
fn group_index(collective: Collective, operators: OperatorClass) -> usize {
    let row = collective as usize;
    debug_assert!(Collective::ALL[row] == collective);
    row * CLASSES.len() + usize::from(operators == OperatorClass::Noncommutative)
}

/// The rules of the entry that answers a query, or else the default alone, and how the shape was found.
fn choices_for_query(
    table: &Table,
    query: &Query,
    is_even: bool,
    extrapolate: bool,
) -> (Box<[Choice]>, ShapeMatch) {
    let default = || Box::new([Choice::without_rule()]);
    let answering = if is_even {
        table.answering_entry(query)
    } else {
        table.nearest_entry(query).map(|entry| {
            let matched = entry.shape_match(query);
            let is_stand_in = matched.is_stand_in();
            let stand_in = if is_stand_in {
                matched
            } else {
                ShapeMatch::Nearest(entry.shape)
            };
            (Cow::Borrowed(entry), stand_in)
        })
    };
    let Some((entry, matched)) = answering else {
        return (default(), ShapeMatch::Absent);
    };
    if (extrapolate || !matched.is_stand_in()) && !entry.rules.is_empty() {
        // Ranks that do not know a common size must not choose by theirs.
        let most = if query.collective.decides_by_size() {
            entry.rules.len()
        } else {
            1
        };
        let rules = entry.rules.iter().take(most);
        (rules.map(Choice::from_rule).collect(), matched)
    } else {
        (default(), matched)
    }
}

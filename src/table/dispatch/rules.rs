//! What a table says about one communicator.

use std::hash::{DefaultHasher, Hash, Hasher};

use schedule::Collective;
use vocabulary::{Candidate, CommShape, RankOrder};

use super::group::Group;
use crate::{Deployment, OperatorClass, Query, Rule, ShapeMatch, Table};

/// A decision of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// What to use.
    pub candidate: Candidate,
    /// The default's time divided by the candidate's, if the table says so; 1 for the default.
    pub speedup: Option<f64>,
    /// The smallest message size in bytes that it holds for.
    pub from_bytes: u64,
}

impl Choice {
    fn of(rule: &Rule) -> Self {
        Self {
            speedup: match rule.candidate {
                Candidate::Default => Some(1.0),
                _ => rule.speedup,
            },
            candidate: rule.candidate.clone(),
            from_bytes: rule.from_bytes,
        }
    }

    /// For lack of any rule.
    fn default() -> Self {
        Self {
            candidate: Candidate::Default,
            speedup: Some(1.0),
            from_bytes: 0,
        }
    }
}

const CLASSES: [OperatorClass; 2] = OperatorClass::ALL;
const GROUPS: usize = Collective::MEASURED.len() * CLASSES.len();

/// What a table says about communicators of one shape and order of ranks, for programs that use colltune: for
/// [`Deployment::Colltune`].
#[derive(Clone, Debug)]
pub struct CommunicatorRules {
    shape: CommShape,
    order: RankOrder,
    /// Rules by collective, then class of operators.
    groups: [(Group, Box<[Choice]>); GROUPS],
    /// How each group's shape was found in the table.
    matched: [ShapeMatch; GROUPS],
}

impl CommunicatorRules {
    /// Compiles the rules that [`Table::lookup`] finds, or interpolates, for the shape and the order of ranks on it.
    /// Unless `extrapolate` is set, a shape for which another one stands in is left to the library.
    pub fn new(table: &Table, shape: CommShape, order: RankOrder, extrapolate: bool) -> Self {
        let query = |index: usize| Query {
            collective: Collective::MEASURED[index / CLASSES.len()],
            shape,
            order,
            bytes: 0,
            operators: CLASSES[index % CLASSES.len()],
            deployment: Deployment::Colltune,
        };
        let mut matched = [ShapeMatch::Absent; GROUPS];
        let groups = std::array::from_fn(|index| {
            let (choices, how) = choices(table, &query(index), extrapolate);
            matched[index] = how;
            let from = choices.iter().map(|choice| choice.from_bytes).collect();
            (Group::new(from), choices)
        });
        Self {
            shape,
            order,
            groups,
            matched,
        }
    }

    /// The shape that they hold for.
    pub fn shape(&self) -> CommShape {
        self.shape
    }

    /// The order of ranks that they hold for.
    pub fn order(&self) -> RankOrder {
        self.order
    }

    /// Decides about a call of `bytes`, as defined by [`message_size`](crate::message_size). The class of
    /// operators is without meaning where nothing is combined.
    ///
    /// Says what [`Table::lookup`] says, allocates nothing and takes a few nanoseconds.
    #[inline]
    pub fn decide(&self, collective: Collective, operators: OperatorClass, bytes: u64) -> &Choice {
        let (group, choices) = &self.groups[place(collective, operators)];
        &choices[group.find(bytes)]
    }

    /// All that may be decided about a collective and a class of operators, by size.
    pub fn choices(&self, collective: Collective, operators: OperatorClass) -> &[Choice] {
        &self.groups[place(collective, operators)].1
    }

    /// A number that tells rules apart that were interpolated by processors that round differently; 0 if no rule is
    /// interpolated.
    pub fn rounding(&self) -> u32 {
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

    /// How the shape and the order of ranks were found in the table. A stand-in decides only if the rules
    /// extrapolate.
    pub fn matched(&self, collective: Collective, operators: OperatorClass) -> ShapeMatch {
        self.matched[place(collective, operators)]
    }
}

#[inline]
fn place(collective: Collective, operators: OperatorClass) -> usize {
    let row = collective as usize;
    debug_assert!(Collective::MEASURED[row] == collective);
    row * CLASSES.len() + usize::from(operators == OperatorClass::Noncommutative)
}

/// The rules of the entry that answers a query, and how the shape is found in it; the default alone if there is none.
fn choices(table: &Table, query: &Query, extrapolate: bool) -> (Box<[Choice]>, ShapeMatch) {
    let default = || Box::new([Choice::default()]);
    let Some((entry, matched)) = table.answering(query) else {
        return (default(), ShapeMatch::Absent);
    };
    match extrapolate || !matched.is_stand_in() {
        true if !entry.rules.is_empty() => (entry.rules.iter().map(Choice::of).collect(), matched),
        _ => (default(), matched),
    }
}

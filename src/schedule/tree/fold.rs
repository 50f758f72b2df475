//! Ranks folded to a power of two.
//!
//! With `P = 2^steps` the largest power of two that is not above p, the first `2 (p - P)` ranks form
//! pairs of neighbours of which one stands for both. Those that go on are numbered in rank order:
//! position `q` stands for a range of one or two ranks, and an aligned group of positions for a
//! range of ranks.

use std::ops::Range;

use crate::program::Program;
use crate::{Buffer, Rank, Round, Span};

/// The folding of a communicator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fold {
    /// `log2 P`: the rounds of an exchange at doubling distances.
    pub(crate) steps: u32,
    /// How many ranks are folded away.
    folded: u32,
    /// A rank that must go on; in all other pairs the lower one does.
    kept: Rank,
}

/// A rank's part in a folding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It goes on, for itself alone or also for a neighbour.
    GoesOn {
        position: u32,
        stands_for: Option<Rank>,
    },
    /// A neighbour goes on for it.
    Away { neighbour: Rank },
}

impl Fold {
    /// The folding of `ranks` in which rank `kept` goes on.
    pub(crate) fn new(ranks: u32, kept: Rank) -> Self {
        let steps = ranks.ilog2();
        Self {
            steps,
            folded: ranks - (1 << steps),
            kept,
        }
    }

    /// `P`, the number of positions.
    pub(crate) fn positions(self) -> u32 {
        1 << self.steps
    }

    /// What a rank does.
    pub(crate) fn role(self, rank: Rank) -> Role {
        if rank >= 2 * self.folded {
            let position = rank - self.folded;
            return Role::GoesOn {
                position,
                stands_for: None,
            };
        }
        let neighbour = rank ^ 1;
        let position = rank / 2;
        if self.rank(position) == rank {
            Role::GoesOn {
                position,
                stands_for: Some(neighbour),
            }
        } else {
            Role::Away { neighbour }
        }
    }

    /// The rank at a position.
    pub(crate) fn rank(self, position: u32) -> Rank {
        let Range { start, end } = self.ranks(position, 1);
        if end - start == 2 && self.kept == start + 1 {
            self.kept
        } else {
            start
        }
    }

    /// The ranks that `count` positions from `position` stand for.
    pub(crate) fn ranks(self, position: u32, count: u32) -> Range<Rank> {
        let first = |position: u32| position + position.min(self.folded);
        first(position)..first(position + count)
    }
}

/// A rank that hands in its whole vector, and gets `result` from the neighbour that goes on for it.
pub(crate) struct Away {
    pub(crate) neighbour: Rank,
    pub(crate) result: Span,
}

impl Program for Away {
    fn rounds(&self) -> u64 {
        2
    }

    fn round(&self, index: u64, round: &mut Round) {
        match index {
            0 => round.send(self.neighbour, Span::whole(Buffer::Input)),
            _ => round.recv(self.neighbour, self.result),
        }
    }
}

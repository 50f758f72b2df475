//! Ranks folded to a power of two.
//!
//! Let `P = 2^steps` be the largest power of two up to p. The first `2 (p - P)` ranks form pairs of neighbours, and
//! one rank of each pair represents both. The remaining ranks are numbered in rank order: position `q` represents a
//! range of one or two ranks, and an aligned group of positions a range of ranks.

use std::ops::Range;

use crate::program::Program;
use crate::{Buffer, Rank, Round, Span};

/// The folding of a communicator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fold {
    /// `log2 P`: the rounds of an exchange at doubling distances.
    pub(crate) steps: u32,
    /// The number of folded ranks.
    folded: u32,
    /// A rank that must stay active; in all other pairs the lower one does.
    kept: Rank,
}

/// A rank's part in a folding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The rank stays active, for itself or also for a neighbour.
    GoesOn {
        position: u32,
        stands_for: Option<Rank>,
    },
    /// A neighbour represents the rank.
    Away { neighbour: Rank },
}

impl Fold {
    /// The folding of `ranks` in which rank `kept` stays active.
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

    /// The role of a rank.
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

    /// The ranks that `count` positions from `position` represent.
    pub(crate) fn ranks(self, position: u32, count: u32) -> Range<Rank> {
        let first = |position: u32| position + position.min(self.folded);
        first(position)..first(position + count)
    }
}

/// A rank that sends its whole vector to the neighbour that represents it, and receives `result` from there.
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

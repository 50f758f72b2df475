//! Ranks folded to fewer positions, at least half as many.
//!
//! With `P` positions, mostly the largest power of two up to p, the first `2 (p - P)` ranks form pairs of neighbours,
//! and one rank of each pair represents both. The remaining ranks are numbered in rank order: position `q` represents
//! a range of one or two ranks, and an aligned group of positions a range of ranks.

use std::ops::Range;

use crate::program::Program;
use crate::{Buffer, Rank, Round, Span};

/// The folding of a communicator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fold {
    /// `P`.
    positions: u32,
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
    /// The folding of `ranks` to a power of two in which rank `kept` stays active.
    pub(crate) fn new(ranks: u32, kept: Rank) -> Self {
        Self {
            kept,
            ..Self::to_positions(1 << ranks.ilog2(), ranks)
        }
    }

    /// The folding of `ranks` to a number of positions, from half as many to as many.
    pub(crate) fn to_positions(positions: u32, ranks: u32) -> Self {
        Self {
            positions,
            folded: ranks - positions,
            kept: 0,
        }
    }

    /// `P`, the number of positions.
    pub(crate) fn positions(self) -> u32 {
        self.positions
    }

    /// `log2 P` of a power of two: the rounds of an exchange at doubling distances.
    pub(crate) fn steps(self) -> u32 {
        self.positions.ilog2()
    }

    /// The role of a rank.
    pub(crate) fn role_of_rank(self, rank: Rank) -> Role {
        let position = self.position_of_rank(rank);
        if rank >= 2 * self.folded {
            return Role::GoesOn {
                position,
                stands_for: None,
            };
        }
        let neighbour = rank ^ 1;
        if self.rank_at_position(position) == rank {
            Role::GoesOn {
                position,
                stands_for: Some(neighbour),
            }
        } else {
            Role::Away { neighbour }
        }
    }

    /// The position that represents a rank.
    pub(crate) fn position_of_rank(self, rank: Rank) -> u32 {
        if rank < 2 * self.folded {
            rank / 2
        } else {
            rank - self.folded
        }
    }

    /// The rank at a position.
    pub(crate) fn rank_at_position(self, position: u32) -> Rank {
        let Range { start, end } = self.ranks_at_positions(position, 1);
        if end - start == 2 && self.kept == start + 1 {
            self.kept
        } else {
            start
        }
    }

    /// The ranks that `count` positions from `position` represent.
    pub(crate) fn ranks_at_positions(self, position: u32, count: u32) -> Range<Rank> {
        let first = |place: u32| place + place.min(self.folded);
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

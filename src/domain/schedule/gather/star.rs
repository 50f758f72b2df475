//! Every rank sends its contribution straight to the root.

use crate::program::Program;
use crate::{Buffer, Partition, Rank, Round, Shape, Span};

/// The order in which the root receives the contributions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// One after the other, in rank order.
    InTurn,
    /// All at once, in any order.
    AtOnce,
    /// Up to this many at once, in rank order.
    InBatches(u32),
    /// One after the other; each rank sends at the root's request.
    OnRequest,
}

/// The program of a rank.
pub(crate) fn program(pace: Pace, shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let Shape { ranks, root, .. } = *shape;
    let own = Span::block(Buffer::Input, Partition::parts(ranks), rank.into());
    if rank == root {
        Box::new(Root { pace, ranks, own })
    } else {
        Box::new(HandIn { pace, root, own })
    }
}

struct HandIn {
    pace: Pace,
    root: Rank,
    own: Span,
}

impl Program for HandIn {
    fn rounds(&self) -> u64 {
        1 + u64::from(self.pace == Pace::OnRequest)
    }

    fn round(&self, index: u64, round: &mut Round) {
        if index + 1 < self.rounds() {
            round.wait_for(self.root);
        } else {
            round.send(self.root, self.own);
        }
    }
}

struct Root {
    pace: Pace,
    ranks: u32,
    own: Span,
}

impl Root {
    /// The `index`-th of the other ranks, if there is one.
    fn other(&self, index: u64) -> Option<Rank> {
        let root = self.own.blocks.start;
        let rank = index + u64::from(index >= root);
        (rank < self.ranks.into()).then_some(rank as Rank)
    }

    fn take(&self, from: Rank, round: &mut Round) {
        let span = Span::block(Buffer::Output, self.own.partition, from.into());
        round.recv(from, span);
    }
}

impl Program for Root {
    fn rounds(&self) -> u64 {
        let others = u64::from(self.ranks) - 1;
        match self.pace {
            Pace::AtOnce => 1,
            Pace::InBatches(size) => others.div_ceil(size.into()),
            Pace::InTurn => others,
            Pace::OnRequest => others + 1,
        }
    }

    fn round(&self, index: u64, round: &mut Round) {
        if index == 0 {
            round.copy(self.own, self.own.in_buffer(Buffer::Output));
        }
        match self.pace {
            Pace::AtOnce => {
                let others = (0..).map_while(|place| self.other(place));
                others.for_each(|other| self.take(other, round));
            }
            Pace::InBatches(size) => {
                let first = index * u64::from(size);
                let others = (first..first + u64::from(size)).map_while(|place| self.other(place));
                others.for_each(|other| self.take(other, round));
            }
            Pace::InTurn => {
                if let Some(other) = self.other(index) {
                    self.take(other, round);
                }
            }
            Pace::OnRequest => {
                if let Some(other) = index.checked_sub(1).and_then(|index| self.other(index)) {
                    self.take(other, round);
                }
                if let Some(next) = self.other(index) {
                    round.signal(next);
                }
            }
        }
    }
}

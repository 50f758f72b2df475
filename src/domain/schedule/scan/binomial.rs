//! Up and down a binomial tree.

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::shape::log2_ceil;
use crate::{Buffer, Collective, Rank, Room, Round, Shape, Span};

/// About `2 L - 1` steps, in which each rank sends and receives few messages: all ranks together `2 p - L - 2` at most,
/// where straight doubling sends `p L - 2^L + 1`.
///
/// On the way up, at distances `d = 1, 2, 4, ...`, the last rank of every group of `2 d` combines the results of the
/// group's halves. On the way down the last rank of every complete group passes its result to the last one of the next
/// group's first half.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Scan,
    id: "binomial",
    summary: "up a binomial tree to partial results, and down to the results of all ranks",
    source: "Brent, Kung 1982; Blelloch 1989",
    formula: "about (2L-1) (alpha + beta m + gamma m), fewer messages than doubling",
    scratch: |_: &Shape, _| vec![Room::WHOLE],
    program: |shape, rank| Box::new(UpAndDown::new(shape, rank)),
    ..PLAIN
};

/// A rank's place in the tree, by which it meets the same ranks in inclusive and in exclusive scans.
#[derive(Clone, Copy)]
pub(crate) struct UpAndDown {
    rank: Rank,
    ranks: u32,
}

/// What a rank does with the combination that it has so far.
pub(crate) enum Exchange {
    SendTo(Rank),
    CombineFrom(Rank),
    Nothing,
}

impl UpAndDown {
    pub(crate) fn new(shape: &Shape, rank: Rank) -> Self {
        Self {
            rank,
            ranks: shape.ranks,
        }
    }

    fn levels(self) -> u64 {
        log2_ceil(self.ranks).into()
    }

    /// The number of steps up and down.
    pub(crate) fn steps(self) -> u64 {
        2 * self.levels()
    }

    /// The exchange of a step: first those of the way up, then those of the way down, at distances from the largest.
    pub(crate) fn exchange(self, step: u64) -> Exchange {
        let goes_up = step < self.levels();
        let level = if goes_up {
            step
        } else {
            self.steps() - 1 - step
        };
        let distance = 1_u64 << level;
        let after = u64::from(self.rank) + distance;
        let after = (after < self.ranks.into()).then_some(after as Rank);
        let before = self.rank.checked_sub(distance as Rank);
        // The number of ranks up to this one, of which the lowest bits say where it is in its group.
        let within = (u64::from(self.rank) + 1) % (2 * distance);
        match (goes_up, within) {
            (true, 0) => before.map_or(Exchange::Nothing, Exchange::CombineFrom),
            (true, within) if within == distance => {
                after.map_or(Exchange::Nothing, Exchange::SendTo)
            }
            (false, 0) => after.map_or(Exchange::Nothing, Exchange::SendTo),
            (false, within) if within == distance => {
                before.map_or(Exchange::Nothing, Exchange::CombineFrom)
            }
            _ => Exchange::Nothing,
        }
    }
}

impl Program for UpAndDown {
    fn rounds(&self) -> u64 {
        // The result so far is in the output from the first round on.
        1 + 2 * self.steps()
    }

    fn round(&self, index: u64, round: &mut Round) {
        let output = Span::whole(Buffer::Output);
        let arrived = Span::whole(Buffer::Scratch(0));
        let Some(index) = index.checked_sub(1) else {
            return round.copy(Span::whole(Buffer::Input), output);
        };
        let combines = !index.is_multiple_of(2);
        match self.exchange(index / 2) {
            Exchange::SendTo(rank) if !combines => round.send(rank, output),
            Exchange::CombineFrom(rank) if !combines => round.recv(rank, arrived),
            Exchange::CombineFrom(_) => round.combine(arrived, output, output),
            Exchange::SendTo(_) | Exchange::Nothing => {}
        }
    }
}

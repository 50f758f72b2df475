//! A signal that goes round the ring of ranks twice.

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::{Collective, Cost, Rank, Round};

/// Cost `(2 p - 1) alpha`: when the signal is back at rank 0, all ranks have begun, and its second round tells them.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Barrier,
    id: "double_ring",
    summary: "a signal goes round the ring of ranks twice",
    source: "Open MPI's double ring",
    formula: "(2p-1) alpha",
    cost: |ranks| Some(Cost::signalling(2 * u64::from(ranks) - 1)),
    program: |shape, rank| {
        Box::new(TwiceRound {
            rank,
            ranks: shape.ranks,
        })
    },
    ..PLAIN
};

struct TwiceRound {
    rank: Rank,
    ranks: u32,
}

impl Program for TwiceRound {
    fn rounds(&self) -> u64 {
        4
    }

    fn round(&self, index: u64, round: &mut Round) {
        let is_first = self.rank == 0;
        let is_last = self.rank + 1 == self.ranks;
        // Rank 0 begins both rounds of the ring; every other rank waits for the signal before it passes it on.
        let waits = index.is_multiple_of(2) != is_first;
        if waits {
            // The second signal ends at the last rank.
            let ends = is_first && index == 3;
            if !ends {
                round.wait_for(self.rank.checked_sub(1).unwrap_or(self.ranks - 1));
            }
        } else if !(is_last && index == 3) {
            round.signal(if is_last { 0 } else { self.rank + 1 });
        }
    }
}

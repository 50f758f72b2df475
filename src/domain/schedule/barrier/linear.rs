//! Every rank tells rank 0, and rank 0 tells every rank.

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::{Collective, Rank, Round};

/// Cost `2 (alpha + (p - 1) o)`: only the overhead `o` of a message adds up at rank 0.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Barrier,
    id: "linear",
    summary: "every rank signals rank 0, which signals every rank",
    source: "central barrier: Mellor-Crummey, Scott 1991; Open MPI's linear",
    formula: "2 (alpha + (p-1) o), o the overhead of a message",
    program: |shape, rank| match rank {
        CENTRE => Box::new(Centre { ranks: shape.ranks }),
        _ => Box::new(Outer),
    },
    ..PLAIN
};

/// The rank that hears of all others.
const CENTRE: Rank = 0;

/// The program of rank 0. It has no list of the others, since a program must start quickly on any number of ranks.
struct Centre {
    ranks: u32,
}

impl Program for Centre {
    fn rounds(&self) -> u64 {
        2
    }

    fn round(&self, index: u64, round: &mut Round) {
        for rank in 1..self.ranks {
            if index == 0 {
                round.wait_for(rank);
            } else {
                round.signal(rank);
            }
        }
    }
}

/// The program of any other rank.
struct Outer;

impl Program for Outer {
    fn rounds(&self) -> u64 {
        1
    }

    fn round(&self, _: u64, round: &mut Round) {
        round.signal(CENTRE);
        round.wait_for(CENTRE);
    }
}

//! Recursive doubling: partners at distances 1, 2, 4, ... signal each other.

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::fold::{Fold, Role};
use crate::{Collective, Cost, Rank, Round};

/// Cost `L alpha` if `p = 2^L`, otherwise two signals more than for the next lower power of two `P`: the first
/// `2 (p - P)` ranks form pairs of neighbours, of which one takes part for both.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Barrier,
    id: "recursive_doubling",
    summary: "signals exchanged at distances 1, 2, 4, ...; folded to a power of two first",
    source: "butterfly barrier: Brooks 1986; Open MPI's recursive doubling",
    formula: "L alpha if p = 2^L, else two signals more than for 2^(L-1)",
    cost: |ranks| {
        let folds = u64::from(!ranks.is_power_of_two());
        Some(Cost::signalling(u64::from(ranks.ilog2()) + 2 * folds))
    },
    program: |shape, rank| {
        let fold = Fold::new(shape.ranks, 0);
        match fold.role_of_rank(rank) {
            Role::Away { neighbour } => Box::new(Represented { neighbour }),
            Role::GoesOn {
                position,
                stands_for,
            } => Box::new(Doubling {
                fold,
                position,
                stands_for,
            }),
        }
    },
    ..PLAIN
};

/// A rank for which a neighbour takes part.
struct Represented {
    neighbour: Rank,
}

impl Program for Represented {
    fn rounds(&self) -> u64 {
        1
    }

    fn round(&self, _: u64, round: &mut Round) {
        round.signal(self.neighbour);
        round.wait_for(self.neighbour);
    }
}

/// A rank that takes part, for itself or also for a neighbour.
struct Doubling {
    fold: Fold,
    position: u32,
    stands_for: Option<Rank>,
}

impl Program for Doubling {
    fn rounds(&self) -> u64 {
        let folding = if self.stands_for.is_some() { 2 } else { 0 };
        folding + u64::from(self.fold.steps())
    }

    fn round(&self, index: u64, round: &mut Round) {
        let step = match self.stands_for {
            Some(neighbour) if index == 0 => return round.wait_for(neighbour),
            Some(neighbour) if index + 1 == self.rounds() => return round.signal(neighbour),
            Some(_) => index - 1,
            None => index,
        };
        let partner = self.fold.rank_at_position(self.position ^ (1 << step));
        round.signal(partner);
        round.wait_for(partner);
    }
}

//! Recursive doubling: partners at distances 1, 2, 4, ... exchange all that they hold.

use super::{contribution, gathered};
use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::fold::{Fold, Role};
use crate::{Collective, Cost, Rank, Round, Shape, Span};

/// Cost `L alpha + (p - 1) beta m` if `p = 2^L`. Otherwise ranks fold to the next lower power of two
/// first: one message more before, and one after it that carries nearly everything.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allgather,
    id: "recursive_doubling",
    summary: "all that is gathered is exchanged at distances 1, 2, 4, ...; folded to a power of two first",
    source: "Thakur, Rabenseifner, Gropp 2005",
    formula: "L alpha + (p-1) beta m if p = 2^L",
    cost: |ranks| {
        let cost = Cost::moving(ranks.ilog2().into(), u64::from(ranks) - 1);
        ranks.is_power_of_two().then_some(cost)
    },
    program,
    ..PLAIN
};

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let ranks = shape.ranks;
    let fold = Fold::new(ranks, 0);
    match fold.role(rank) {
        Role::Away { neighbour } => Box::new(FoldedAway {
            rank,
            ranks,
            neighbour,
        }),
        Role::GoesOn {
            position,
            stands_for,
        } => Box::new(Doubling {
            rank,
            ranks,
            fold,
            position,
            stands_for,
        }),
    }
}

/// All contributions but one, which begin after it.
fn others(rank: Rank, ranks: u32) -> Span {
    gathered((rank + 1) % ranks, ranks - 1, ranks)
}

struct FoldedAway {
    rank: Rank,
    ranks: u32,
    neighbour: Rank,
}

impl Program for FoldedAway {
    fn rounds(&self) -> u64 {
        2
    }

    fn round(&self, index: u64, round: &mut Round) {
        let own = contribution(self.rank, self.ranks);
        match index {
            0 => {
                round.copy(own, gathered(self.rank, 1, self.ranks));
                round.send(self.neighbour, own);
            }
            _ => round.recv(self.neighbour, others(self.rank, self.ranks)),
        }
    }
}

struct Doubling {
    rank: Rank,
    ranks: u32,
    fold: Fold,
    position: u32,
    stands_for: Option<Rank>,
}

impl Doubling {
    /// The contributions that the aligned group of `2^step` positions around one holds.
    fn group(&self, position: u32, step: u32) -> Span {
        let first = position >> step << step;
        let ranks = self.fold.ranks(first, 1 << step);
        gathered(ranks.start, ranks.end - ranks.start, self.ranks)
    }
}

impl Program for Doubling {
    fn rounds(&self) -> u64 {
        u64::from(self.fold.steps) + if self.stands_for.is_some() { 2 } else { 0 }
    }

    fn round(&self, index: u64, round: &mut Round) {
        let own = contribution(self.rank, self.ranks);
        if index == 0 {
            round.copy(own, gathered(self.rank, 1, self.ranks));
        }
        let step = match self.stands_for {
            Some(away) if index == 0 => return round.recv(away, gathered(away, 1, self.ranks)),
            Some(away) if index + 1 == self.rounds() => {
                return round.send(away, others(away, self.ranks));
            }
            Some(_) => index as u32 - 1,
            None => index as u32,
        };
        let position = self.position ^ (1 << step);
        let partner = self.fold.rank(position);
        let leaving = match index {
            0 => own,
            _ => self.group(self.position, step),
        };
        round.send(partner, leaving);
        round.recv(partner, self.group(position, step));
    }
}

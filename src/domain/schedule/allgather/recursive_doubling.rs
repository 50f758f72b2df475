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
    program: |shape, rank| program(STEPS, shape, rank),
    ..PLAIN
};

const STEPS: Steps = Steps {
    count: Fold::steps,
    exchange: |_, position, step| {
        let partner = position ^ (1 << step);
        [position, partner].map(|other| Exchange {
            with: partner,
            first: other >> step << step,
            count: 1 << step,
        })
    },
};

/// The exchanges among the positions.
#[derive(Clone, Copy)]
pub(super) struct Steps {
    /// The number of exchanges.
    pub(super) count: fn(Fold) -> u32,
    /// The message that a position sends in a step, and the one that it receives; none if both ends are the position
    /// itself.
    pub(super) exchange: fn(Fold, position: u32, step: u32) -> [Exchange; 2],
}

/// A message: the contributions of the ranks that consecutive positions represent.
pub(super) struct Exchange {
    /// The position at the other end.
    pub(super) with: u32,
    pub(super) first: u32,
    pub(super) count: u32,
}

/// The program of a rank among those that are folded to a power of two of positions.
pub(super) fn program(steps: Steps, shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let ranks = shape.ranks;
    let fold = Fold::new(ranks, 0);
    match fold.role_of_rank(rank) {
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
            steps,
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
    steps: Steps,
    position: u32,
    stands_for: Option<Rank>,
}

impl Program for Doubling {
    fn rounds(&self) -> u64 {
        u64::from((self.steps.count)(self.fold)) + if self.stands_for.is_some() { 2 } else { 0 }
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
        let [leaving, arriving] = (self.steps.exchange)(self.fold, self.position, step);
        let span = |exchange: &Exchange| {
            let ranks = self.fold.ranks_at_positions(exchange.first, exchange.count);
            gathered(ranks.start, ranks.end - ranks.start, self.ranks)
        };
        if leaving.with == self.position {
            return;
        }
        let sent = match index {
            0 => own,
            _ => span(&leaving),
        };
        round.send(self.fold.rank_at_position(leaving.with), sent);
        round.recv(self.fold.rank_at_position(arriving.with), span(&arriving));
    }
}

//! Recursive doubling: partners at distances 1, 2, 4, ... exchange whole vectors.

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::fold::{Away, Fold, Role};
use crate::{Buffer, Collective, Cost, Rank, Room, Round, Shape, Span};

/// Cost `L (alpha + beta m + gamma m)` if `p = 2^L`; otherwise two steps and one combination more
/// than for the next lower power of two `P`.
///
/// Then the first `2 (p - P)` ranks fold: odd ones hand their vector to the left neighbour before
/// and get the result from it after. Neighbours are combined first and renumbering keeps the order
/// of ranks, so every combination joins adjacent ranges.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    id: "recursive_doubling",
    summary: "whole vectors exchanged at distances 1, 2, 4, ...; folded to a power of two first",
    source: "Thakur, Rabenseifner, Gropp 2005",
    formula: "L (alpha + beta m + gamma m) if p = 2^L, else two messages and a combination more than for 2^(L-1)",
    cost,
    scratch: |shape, rank| match Fold::new(shape.ranks, 0).role(rank) {
        Role::GoesOn { .. } => vec![Room::WHOLE],
        Role::Away { .. } => vec![],
    },
    program,
    ..PLAIN
};

fn cost(ranks: u32) -> Option<Cost> {
    let rounds = u64::from(ranks.ilog2());
    let folds = u64::from(!ranks.is_power_of_two());
    Some(Cost::whole(rounds + 2 * folds, rounds + folds))
}

const RECEIVED: Buffer = Buffer::Scratch(0);

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let fold = Fold::new(shape.ranks, 0);
    match fold.role(rank) {
        Role::Away { neighbour } => Box::new(Away {
            neighbour,
            result: Span::whole(Buffer::Output),
        }),
        Role::GoesOn {
            position,
            stands_for,
        } => Box::new(Doubling {
            fold,
            position,
            stands_for,
        }),
    }
}

/// A rank that takes part in the doubling.
struct Doubling {
    fold: Fold,
    position: u32,
    /// The right neighbour that is folded away.
    stands_for: Option<Rank>,
}

impl Program for Doubling {
    fn rounds(&self) -> u64 {
        let folding = if self.stands_for.is_some() { 3 } else { 0 };
        folding + 2 * u64::from(self.fold.steps)
    }

    fn round(&self, index: u64, round: &mut Round) {
        let own = match index < 2 {
            true => Buffer::Input,
            false => Buffer::Output,
        };
        let [received, own, result] = [RECEIVED, own, Buffer::Output].map(Span::whole);
        let index = match self.stands_for {
            Some(away) if index == 0 => return round.recv(away, received),
            Some(_) if index == 1 => return round.combine(own, received, result),
            Some(away) if index + 1 == self.rounds() => return round.send(away, result),
            Some(_) => index - 2,
            None => index,
        };
        let position = self.position ^ (1 << (index / 2));
        if index.is_multiple_of(2) {
            let partner = self.fold.rank(position);
            round.send(partner, own);
            round.recv(partner, received);
        } else {
            round.combine_by_rank(position < self.position, received, own, result);
        }
    }
}

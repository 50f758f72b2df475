//! Recursive doubling: partners at distances 1, 2, 4, ... exchange whole vectors.

use crate::program::{Program, alone};
use crate::registry::{Algorithm, one_block};
use crate::{Buffer, Collective, PipelineCost, Rank, Round, Scratch, Shape, Span};

/// Cost `L (alpha + beta m + gamma m)` if `p = 2^L`; otherwise two steps and one combination more
/// than for the next lower power of two `P`.
///
/// Then the first `2 (p - P)` ranks fold: even ones hand their vector to the right neighbour
/// before and get the result from it after. Neighbours are combined first and renumbering keeps
/// the order of ranks, so every combination joins adjacent ranges.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    id: "recursive_doubling",
    summary: "whole vectors exchanged at distances 1, 2, 4, ...; folded to a power of two first",
    source: "Thakur, Rabenseifner, Gropp 2005",
    parameters: &[],
    ordered: true,
    cost,
    fixed_blocks: one_block,
    scratch,
    program,
};

fn cost(ranks: u32) -> Option<PipelineCost> {
    let rounds = i64::from(ranks.ilog2());
    let folds = i64::from(!ranks.is_power_of_two());
    Some(PipelineCost {
        c1: rounds + 2 * folds,
        c2: 0,
        g1: rounds + folds,
        g2: 0,
    })
}

const RECEIVED: Buffer = Buffer::Scratch(0);

fn scratch(_: &Shape) -> Vec<Scratch> {
    vec![Scratch::Whole]
}

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let ranks = shape.ranks;
    if ranks == 1 {
        return alone(shape.in_place);
    }
    let steps = ranks.ilog2();
    let folded = ranks - (1 << steps);
    let source = shape.source();
    if rank < 2 * folded && rank.is_multiple_of(2) {
        return Box::new(FoldedAway {
            neighbour: rank + 1,
            source,
        });
    }
    let fold = (rank < 2 * folded).then(|| rank - 1);
    let position = if fold.is_some() {
        rank / 2
    } else {
        rank - folded
    };
    Box::new(Doubling {
        fold,
        position,
        folded,
        steps,
        source,
    })
}

/// A rank that is represented by its right neighbour.
struct FoldedAway {
    neighbour: Rank,
    source: Buffer,
}

impl Program for FoldedAway {
    fn rounds(&self) -> u64 {
        2
    }

    fn round(&self, index: u64, round: &mut Round) {
        match index {
            0 => round.send(self.neighbour, Span::whole(self.source)),
            _ => round.recv(self.neighbour, Span::whole(Buffer::Output)),
        }
    }
}

/// A rank that takes part in the doubling.
struct Doubling {
    /// The left neighbour that this rank represents.
    fold: Option<Rank>,
    /// Place among the ranks that take part.
    position: u32,
    /// How many ranks are folded away.
    folded: u32,
    steps: u32,
    source: Buffer,
}

impl Doubling {
    fn partner(&self, step: u32) -> (Rank, bool) {
        let position = self.position ^ (1 << step);
        let rank = if position < self.folded {
            2 * position + 1
        } else {
            position + self.folded
        };
        (rank, position < self.position)
    }
}

impl Program for Doubling {
    fn rounds(&self) -> u64 {
        2 * u64::from(self.steps) + if self.fold.is_some() { 3 } else { 0 }
    }

    fn round(&self, index: u64, round: &mut Round) {
        let [received, result] = [RECEIVED, Buffer::Output].map(Span::whole);
        let own = if index < 2 {
            Span::whole(self.source)
        } else {
            result
        };
        let index = match self.fold {
            Some(left) if index == 0 => return round.recv(left, received),
            Some(_) if index == 1 => return round.combine(received, own, result),
            Some(left) if index + 1 == self.rounds() => return round.send(left, result),
            Some(_) => index - 2,
            None => index,
        };
        let (partner, partner_is_lower) = self.partner((index / 2) as u32);
        if index.is_multiple_of(2) {
            round.send(partner, own);
            round.recv(partner, received);
        } else if partner_is_lower {
            round.combine(received, own, result);
        } else {
            round.combine(own, received, result);
        }
    }
}

//! The root sends to every other rank in order of ranks.

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::{Buffer, Collective, Cost, Rank, Round, Shape, Span};

/// Cost `(p - 1) (alpha + beta m)`: each send waits for the one before.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Bcast,
    id: "linear",
    summary: "the root sends to every rank in turn",
    source: "folklore; Open MPI's basic linear",
    formula: "(p-1) (alpha + beta m)",
    cost,
    program: |shape, rank| program(shape, rank, 1),
    ..PLAIN
};

fn cost(ranks: u32) -> Option<Cost> {
    Some(Cost::whole(u64::from(ranks) - 1, 0))
}

/// The program of a rank if the root starts up to `at_once` sends in a round.
pub(crate) fn program(shape: &Shape, rank: Rank, at_once: u32) -> Box<dyn Program> {
    let Shape { ranks, root, .. } = *shape;
    Box::new(Linear {
        ranks,
        root,
        is_root: rank == root,
        at_once,
    })
}

struct Linear {
    ranks: u32,
    root: Rank,
    is_root: bool,
    at_once: u32,
}

impl Program for Linear {
    fn rounds(&self) -> u64 {
        let messages = self.ranks - 1;
        u64::from(if self.is_root {
            messages.div_ceil(self.at_once)
        } else {
            1
        })
    }

    fn round(&self, index: u64, round: &mut Round) {
        let vector = Span::whole(Buffer::Output);
        if !self.is_root {
            return round.recv(self.root, vector);
        }
        let first = index as u32 * self.at_once;
        for other in first..(self.ranks - 1).min(first.saturating_add(self.at_once)) {
            round.send(other + u32::from(other >= self.root), vector);
        }
    }
}

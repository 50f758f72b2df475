//! Every rank sends to the root, which combines in order of ranks.

use crate::program::{CopyOwn, Program};
use crate::registry::{Algorithm, PLAIN};
use crate::{Buffer, Collective, Cost, Rank, Room, Round, Shape, Span};

/// Cost `(p - 1) (alpha + beta m + gamma m)`.
///
/// The root takes the ranks below it from the nearest down and then those above it upwards, so
/// every combination joins adjacent ranges, whatever the root.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "linear",
    summary: "every rank sends to the root, which combines one after the other",
    source: "folklore; Open MPI's basic linear",
    formula: "(p-1) (alpha + beta m + gamma m)",
    cost,
    scratch: |shape, rank| match rank == shape.root {
        true => vec![Room::WHOLE],
        false => vec![],
    },
    program,
    ..PLAIN
};

fn cost(ranks: u32) -> Option<Cost> {
    let others = u64::from(ranks) - 1;
    Some(Cost::whole(others, others))
}

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let Shape { ranks, root, .. } = *shape;
    match rank == root {
        _ if ranks == 1 => Box::new(CopyOwn),
        true => Box::new(Collect { ranks, root }),
        false => Box::new(HandIn { root }),
    }
}

struct HandIn {
    root: Rank,
}

impl Program for HandIn {
    fn rounds(&self) -> u64 {
        1
    }

    fn round(&self, _: u64, round: &mut Round) {
        round.send(self.root, Span::whole(Buffer::Input));
    }
}

struct Collect {
    ranks: u32,
    root: Rank,
}

impl Program for Collect {
    fn rounds(&self) -> u64 {
        2 * u64::from(self.ranks - 1)
    }

    fn round(&self, index: u64, round: &mut Round) {
        let turn = (index / 2) as u32;
        let sender = if turn < self.root {
            self.root - 1 - turn
        } else {
            turn + 1
        };
        let [received, result] = [Buffer::Scratch(0), Buffer::Output].map(Span::whole);
        let own = if index < 2 {
            Span::whole(Buffer::Input)
        } else {
            result
        };
        if index.is_multiple_of(2) {
            round.recv(sender, received);
        } else if sender < self.root {
            round.combine(received, own, result);
        } else {
            round.combine(own, received, result);
        }
    }
}

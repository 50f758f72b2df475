//! Every rank sends to the root, which combines in order of ranks.

use crate::program::{Program, alone};
use crate::registry::{Algorithm, one_block};
use crate::{Buffer, Collective, PipelineCost, Rank, Round, Scratch, Shape, Span};

/// Cost `(p - 1) (alpha + beta m + gamma m)`.
///
/// The root takes the ranks below it from the nearest down and then those above it upwards, so
/// every combination joins adjacent ranges, whatever the root.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "linear",
    summary: "every rank sends to the root, which combines one after the other",
    source: "folklore; Open MPI's basic linear",
    parameters: &[],
    ordered: true,
    cost,
    fixed_blocks: one_block,
    scratch: |_| vec![Scratch::Whole],
    program,
};

fn cost(ranks: u32) -> Option<PipelineCost> {
    let others = i64::from(ranks) - 1;
    Some(PipelineCost {
        c1: others,
        c2: 0,
        g1: others,
        g2: 0,
    })
}

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let Shape {
        ranks,
        root,
        in_place,
        ..
    } = *shape;
    match rank == root {
        _ if ranks == 1 => alone(in_place),
        true => Box::new(Collect {
            ranks,
            root,
            source: shape.source_of(rank),
        }),
        false => Box::new(HandIn {
            root,
            source: shape.source_of(rank),
        }),
    }
}

struct HandIn {
    root: Rank,
    source: Buffer,
}

impl Program for HandIn {
    fn rounds(&self) -> u64 {
        1
    }

    fn round(&self, _: u64, round: &mut Round) {
        round.send(self.root, Span::whole(self.source));
    }
}

struct Collect {
    ranks: u32,
    root: Rank,
    source: Buffer,
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
            Span::whole(self.source)
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

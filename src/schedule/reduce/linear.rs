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
    scratch,
    program,
    ..PLAIN
};

fn cost(ranks: u32) -> Option<Cost> {
    let others = u64::from(ranks) - 1;
    Some(Cost::whole(others, others))
}

/// The first message arrives where the result shall be, unless the root's own vector stands there.
fn scratch(shape: &Shape, rank: Rank) -> Vec<Room> {
    let needed = rank == shape.root && shape.ranks > if shape.in_place { 1 } else { 2 };
    vec![Room::WHOLE; usize::from(needed)]
}

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let Shape {
        ranks,
        root,
        in_place,
        ..
    } = *shape;
    match rank == root {
        _ if ranks == 1 => Box::new(CopyOwn),
        true => Box::new(Collect {
            ranks,
            root,
            in_place,
        }),
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
    in_place: bool,
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
        let is_first = index < 2;
        let [input, scratch, result] =
            [Buffer::Input, Buffer::Scratch(0), Buffer::Output].map(Span::whole);
        let own = if is_first { input } else { result };
        let received = match is_first && !self.in_place {
            true => result,
            false => scratch,
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

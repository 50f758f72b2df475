//! Store and forward along the chain of ranks towards the root, through one buffer.

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::branch::{Rotation, chain};
use crate::{Buffer, Collective, Cost, Partition, Rank, Room, Round, Shape, Span};

/// Cost `(2p - 3) (alpha + beta m)`: receives and sends take turns.
///
/// Rank `j` after the root sends its own contribution. Then it receives each contribution that lies behind it, `p - j - 1`
/// in all, into the only buffer, and sends it on before the next may come. `ring` has two buffers, so that both overlap.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Gather,
    id: "ring_blocking",
    summary: "contributions move from rank to rank; each rank receives one, then sends it on, in turn",
    source: "Donninelli",
    formula: "(2p-3) (alpha + beta m)",
    cost: |ranks| Some(Cost::whole(2 * u64::from(ranks) - 3, 0)),
    scratch,
    program: |shape, rank| {
        Box::new(TakingTurns {
            rank,
            rotation: Rotation {
                root: shape.root,
                ranks: shape.ranks,
            },
        })
    },
    ..PLAIN
};

/// The buffer of a rank that passes on contributions: room for one.
fn scratch(shape: &Shape, rank: Rank) -> Vec<Room> {
    let branch = chain(rank, shape.root, shape.ranks);
    if branch.parent.is_none() || branch.children.is_empty() {
        return vec![];
    }
    vec![Room::window(Partition::parts(shape.ranks), 1)]
}

struct TakingTurns {
    rank: Rank,
    rotation: Rotation,
}

impl TakingTurns {
    fn part(&self, buffer: Buffer, of: Rank) -> Span {
        Span::block(buffer, Partition::parts(self.rotation.ranks), of.into())
    }
}

impl Program for TakingTurns {
    fn rounds(&self) -> u64 {
        let place = self.rotation.node(self.rank);
        let behind = u64::from(self.rotation.ranks - 1 - place);
        match place {
            0 => behind,
            _ => 1 + 2 * behind,
        }
    }

    fn round(&self, index: u64, round: &mut Round) {
        let Self { rank, rotation } = *self;
        let place = rotation.node(rank);
        let own = self.part(Buffer::Input, rank);
        if place == 0 {
            if index == 0 {
                round.copy(own, own.in_buffer(Buffer::Output));
            }
            let next = rotation.rank(1);
            let arriving = rotation.rank(1 + index as u32);
            return round.recv(next, self.part(Buffer::Output, arriving));
        }
        // After the own contribution, a receive and a send for each that lies behind.
        let leaves = index.is_multiple_of(2);
        let passing = match index {
            0 => own,
            _ => {
                let origin = place + index.div_ceil(2) as u32;
                self.part(Buffer::Scratch(0), rotation.rank(origin))
            }
        };
        if leaves {
            round.send(rotation.rank(place - 1), passing)
        } else {
            round.recv(rotation.rank(place + 1), passing)
        }
    }
}

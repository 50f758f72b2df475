//! A broadcast run backwards is a reduction.
//!
//! Where the broadcast of a whole vector sends, its dual receives and combines; where it receives,
//! it sends, last of all. The rounds come in the opposite order.

use crate::program::{Program, alone};
use crate::{Action, Buffer, Rank, Round, Scratch, Shape, Span};

const RECEIVED: Buffer = Buffer::Scratch(0);
const PARTIAL: Buffer = Buffer::Scratch(1);

/// The scratch buffers of a reversed broadcast.
pub(crate) fn scratch(_: &Shape) -> Vec<Scratch> {
    vec![Scratch::Whole, Scratch::Whole]
}

/// The dual of a broadcast whose rounds have one message each, the first a receive on all ranks
/// but the root. In rank order wherever a subtree is a range of ranks next to its parent's.
pub(crate) fn program(
    broadcast: fn(&Shape, Rank) -> Box<dyn Program>,
    shape: &Shape,
    rank: Rank,
) -> Box<dyn Program> {
    if shape.ranks == 1 {
        return alone(shape.in_place);
    }
    Box::new(Reversed {
        broadcast: broadcast(shape, rank),
        rank,
        is_root: rank == shape.root,
        source: shape.source_of(rank),
    })
}

struct Reversed {
    broadcast: Box<dyn Program>,
    rank: Rank,
    is_root: bool,
    source: Buffer,
}

impl Reversed {
    /// Sends of the broadcast, each of which becomes a receive and a combination.
    fn senders(&self) -> u64 {
        self.broadcast.rounds() - u64::from(!self.is_root)
    }

    /// The other end of the one message in a round of the broadcast; `round` is left as it was.
    fn peer(&self, index: u64, round: &mut Round) -> Option<Rank> {
        self.broadcast.round(index, round);
        match round.actions_mut().pop()? {
            Action::Send { to: peer, .. } | Action::Recv { from: peer, .. } => Some(peer),
            Action::Combine { .. } | Action::Copy { .. } => None,
        }
    }
}

impl Program for Reversed {
    fn rounds(&self) -> u64 {
        2 * self.senders() + u64::from(!self.is_root)
    }

    fn round(&self, index: u64, round: &mut Round) {
        let received = Span::whole(RECEIVED);
        let partial = Span::whole(if self.is_root {
            Buffer::Output
        } else {
            PARTIAL
        });
        let own = if index < 2 {
            Span::whole(self.source)
        } else {
            partial
        };
        let Some(peer) = self.peer(self.broadcast.rounds() - 1 - index / 2, round) else {
            return;
        };
        if index == 2 * self.senders() {
            round.send(peer, own);
        } else if index.is_multiple_of(2) {
            round.recv(peer, received);
        } else if peer > self.rank {
            round.combine(own, received, partial);
        } else {
            round.combine(received, own, partial);
        }
    }
}

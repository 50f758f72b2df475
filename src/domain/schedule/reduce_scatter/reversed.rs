//! An allgather run backwards is a reduce-scatter.
//!
//! If the allgather sends a part, its dual receives contributions to that part and combines them; where the
//! allgather receives a part, the dual sends its combined contributions. Suitable for allgathers that send a part in
//! the step after its arrival, or never.

use crate::program::Program;
use crate::registry::Algorithm;
use crate::{Action, Buffer, Partition, Rank, Room, Round, Shape, Span};

const RECEIVED: Buffer = Buffer::Scratch(0);
const PARTIAL: Buffer = Buffer::Scratch(1);

/// The scratch buffers of a rank: a part that arrives, and one that is being combined.
pub(crate) fn scratch(shape: &Shape, _: Rank) -> Vec<Room> {
    vec![Room::window(Partition::parts(shape.ranks), 1); 2]
}

/// The dual of an allgather whose rounds have one send and one receive.
pub(crate) fn program(allgather: &Algorithm, shape: &Shape, rank: Rank) -> Box<dyn Program> {
    Box::new(Reversed {
        allgather: (allgather.program)(shape, rank),
        in_place: shape.in_place,
    })
}

struct Reversed {
    allgather: Box<dyn Program>,
    in_place: bool,
}

/// The actions of the allgather in a round.
#[derive(Clone, Copy)]
struct Exchange {
    to: Rank,
    sent: Span,
    from: Rank,
    received: Span,
}

impl Reversed {
    fn exchange(&self, index: u64, round: &mut Round) -> Option<Exchange> {
        let outer = round.actions().len();
        self.allgather.round(index, round);
        let (mut send, mut recv) = (None, None);
        for action in round.actions_mut().drain(outer..) {
            match action {
                Action::Send { to, span } => send = Some((to, span)),
                Action::Recv { from, span } => recv = Some((from, span)),
                _ => {}
            }
        }
        let ((to, sent), (from, received)) = (send?, recv?);
        Some(Exchange {
            to,
            sent,
            from,
            received,
        })
    }

    /// Whether the allgather sends the same part in the round after this one, so that its dual has
    /// combined contributions to it in the step before.
    fn is_combined(&self, part: Span, index: u64, round: &mut Round) -> bool {
        let next = index + 1;
        next < self.allgather.rounds()
            && self
                .exchange(next, round)
                .is_some_and(|next| next.sent.blocks == part.blocks)
    }
}

impl Program for Reversed {
    fn rounds(&self) -> u64 {
        2 * self.allgather.rounds() + u64::from(self.in_place)
    }

    fn round(&self, index: u64, round: &mut Round) {
        let Some(step) = (self.allgather.rounds() - 1).checked_sub(index / 2) else {
            // The output may be in the memory of the input, which is no longer needed from here on.
            if let Some(Exchange { sent, .. }) = self.exchange(0, round) {
                round.copy(sent.in_buffer(PARTIAL), sent.in_buffer(Buffer::Output));
            }
            return;
        };
        let Some(exchange) = self.exchange(step, round) else {
            return;
        };
        let mut held = |part: Span| {
            if self.is_combined(part, step, round) {
                part.in_buffer(PARTIAL)
            } else {
                part.in_buffer(Buffer::Input)
            }
        };
        let Exchange {
            to,
            sent,
            from,
            received,
        } = exchange;
        let (leaving, own) = (held(received), held(sent));
        let arriving = sent.in_buffer(RECEIVED);
        if index.is_multiple_of(2) {
            round.send(from, leaving);
            round.recv(to, arriving);
        } else {
            let last = step == 0 && !self.in_place;
            let into = if last { Buffer::Output } else { PARTIAL };
            round.combine(arriving, own, sent.in_buffer(into));
        }
    }
}

//! Reduce-scatters among a power of two of positions, to which the ranks are folded first.
//!
//! A folded rank sends its vector to the neighbour that represents it, and receives its part from there.

use super::parts;
use crate::program::Program;
use crate::tree::fold::{Away, Fold, Role};
use crate::tree::pairing::Pairing;
use crate::{Buffer, Rank, Room, Round, Shape, Span};

/// The received data; as long as the vector.
pub(super) const RECEIVED: Buffer = Buffer::Scratch(0);
/// The combined data; as long as the vector.
pub(super) const PARTIAL: Buffer = Buffer::Scratch(1);

/// The position of an active rank.
pub(super) struct Place {
    pub(super) rank: Rank,
    pub(super) ranks: u32,
    pub(super) fold: Fold,
    pub(super) position: u32,
    pub(super) pairing: Pairing,
    stands_for: Option<Rank>,
}

impl Place {
    /// The position to exchange with in a step.
    pub(super) fn partner(&self, step: u32) -> u32 {
        self.pairing
            .partner_position(self.position, step, self.fold.steps())
    }
}

/// The two rounds of a step among the positions: the exchange with the partner, then the combination of the received
/// data. `own` is the buffer of the rank's data so far.
#[derive(Clone, Copy)]
pub(super) struct Steps {
    pub(super) pairing: Pairing,
    pub(super) exchange: fn(&Place, step: u32, own: Buffer, &mut Round),
    pub(super) combine: fn(&Place, step: u32, own: Buffer, &mut Round),
    /// A round after the last step, for algorithms in which a position ends with the parts of another one.
    pub(super) exchange_parts: Option<fn(&Place, &mut Round)>,
}

/// The scratch buffers of an active rank.
pub(super) fn scratch(shape: &Shape, rank: Rank) -> Vec<Room> {
    match Fold::new(shape.ranks, 0).role_of_rank(rank) {
        Role::GoesOn { .. } => vec![Room::WHOLE, Room::WHOLE],
        Role::Away { .. } => vec![],
    }
}

/// The program of a rank.
pub(super) fn program(steps: Steps, shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let ranks = shape.ranks;
    let fold = Fold::new(ranks, 0);
    match fold.role_of_rank(rank) {
        Role::Away { neighbour } => Box::new(Away {
            neighbour,
            result: parts(Buffer::Output, rank, 1, ranks),
        }),
        Role::GoesOn {
            position,
            stands_for,
        } => Box::new(GoesOn {
            place: Place {
                rank,
                ranks,
                fold,
                position,
                pairing: steps.pairing,
                stands_for,
            },
            steps,
        }),
    }
}

struct GoesOn {
    place: Place,
    steps: Steps,
}

impl Program for GoesOn {
    fn rounds(&self) -> u64 {
        let folding = if self.place.stands_for.is_some() {
            2
        } else {
            0
        };
        let exchange = u64::from(self.steps.exchange_parts.is_some());
        folding + 2 * u64::from(self.place.fold.steps()) + exchange + 1
    }

    fn round(&self, index: u64, round: &mut Round) {
        let Place {
            rank,
            ranks,
            fold,
            stands_for,
            ..
        } = self.place;
        let own = if index < 2 { Buffer::Input } else { PARTIAL };
        let [received, input, partial] = [RECEIVED, Buffer::Input, PARTIAL].map(Span::whole);
        let index = match stands_for {
            Some(away) if index == 0 => return round.recv(away, received),
            Some(away) if index == 1 => {
                return round.combine_by_rank(away < rank, received, input, partial);
            }
            Some(_) => index - 2,
            None => index,
        };
        let step = index as u32 / 2;
        if let (Some(exchange_parts), true) = (
            self.steps.exchange_parts,
            index == 2 * u64::from(fold.steps()),
        ) {
            exchange_parts(&self.place, round);
        } else if step == fold.steps() {
            // Only now may the output be written, which may be in the memory of the input.
            let part = |owner| parts(PARTIAL, owner, 1, ranks);
            if let Some(away) = stands_for {
                round.send(away, part(away));
            }
            round.copy(part(rank), part(rank).in_buffer(Buffer::Output));
        } else if index.is_multiple_of(2) {
            (self.steps.exchange)(&self.place, step, own, round);
        } else {
            (self.steps.combine)(&self.place, step, own, round);
        }
    }
}

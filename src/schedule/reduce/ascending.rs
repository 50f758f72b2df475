//! Whole vectors up a tree, one child after the other.

use crate::program::{CopyOwn, Program};
use crate::{Buffer, Rank, Room, Round, Span};

const RECEIVED: Buffer = Buffer::Scratch(0);
const PARTIAL: Buffer = Buffer::Scratch(1);

/// The scratch buffers of a rank.
pub(crate) fn scratch(ascending: &Ascending) -> Vec<Room> {
    match (&ascending.senders[..], ascending.receiver) {
        ([], _) => vec![],
        (_, None) => vec![Room::WHOLE],
        (_, Some(_)) => vec![Room::WHOLE, Room::WHOLE],
    }
}

/// The program of a rank.
pub(crate) fn program(ascending: Ascending) -> Box<dyn Program> {
    match (&ascending.senders[..], ascending.receiver) {
        ([], None) => Box::new(CopyOwn),
        _ => Box::new(ascending),
    }
}

/// One rank's part in a reduction of whole vectors along a tree.
pub(crate) struct Ascending {
    pub(crate) rank: Rank,
    /// Who sends, in the order in which their vectors are combined. Those of lower ranks are left
    /// operands: in rank order if every subtree is a range of ranks next to what is combined
    /// already.
    pub(crate) senders: Vec<Rank>,
    /// Who gets the partial result; nobody from the root.
    pub(crate) receiver: Option<Rank>,
}

impl Program for Ascending {
    fn rounds(&self) -> u64 {
        2 * self.senders.len() as u64 + u64::from(self.receiver.is_some())
    }

    fn round(&self, index: u64, round: &mut Round) {
        let partial = match self.receiver {
            None => Buffer::Output,
            Some(_) => PARTIAL,
        };
        let own = if index < 2 { Buffer::Input } else { partial };
        let [received, own, partial] = [RECEIVED, own, partial].map(Span::whole);
        match (self.senders.get((index / 2) as usize), self.receiver) {
            (Some(sender), _) if index.is_multiple_of(2) => round.recv(*sender, received),
            (Some(sender), _) if *sender < self.rank => round.combine(received, own, partial),
            (Some(_), _) => round.combine(own, received, partial),
            (None, Some(receiver)) => round.send(receiver, own),
            (None, None) => {}
        }
    }
}

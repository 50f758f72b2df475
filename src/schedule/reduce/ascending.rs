//! Whole vectors up a tree, one child after the other.

use crate::program::{CopyOwn, Program};
use crate::{Buffer, Rank, Room, Round, Span};

/// The scratch buffers of a rank: one for its partial result unless that is the output, and one for
/// what cannot arrive there.
pub(crate) fn scratch(ascending: &Ascending) -> Vec<Room> {
    let direct = usize::from(ascending.arrives_in_place_of_result());
    let is_inner = !ascending.senders.is_empty() && ascending.receiver.is_some();
    let has_others = ascending.senders.len() > direct;
    vec![Room::WHOLE; usize::from(is_inner) + usize::from(has_others)]
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
    /// Whether the root's own vector stands where its result shall be.
    pub(crate) in_place: bool,
}

impl Ascending {
    /// Whether the first message arrives where the result shall be and is combined there, which
    /// touches less memory than a third operand.
    fn arrives_in_place_of_result(&self) -> bool {
        self.receiver.is_some() || !self.in_place
    }

    /// Where the result, partial or not, comes to stand, and where messages arrive that cannot
    /// arrive there.
    fn buffers(&self) -> [Buffer; 2] {
        match self.receiver {
            None => [Buffer::Output, Buffer::Scratch(0)],
            Some(_) => [Buffer::Scratch(0), Buffer::Scratch(1)],
        }
    }
}

impl Program for Ascending {
    fn rounds(&self) -> u64 {
        2 * self.senders.len() as u64 + u64::from(self.receiver.is_some())
    }

    fn round(&self, index: u64, round: &mut Round) {
        let is_first = index < 2;
        let [partial, other] = self.buffers();
        let received = match is_first && self.arrives_in_place_of_result() {
            true => partial,
            false => other,
        };
        let own = if is_first { Buffer::Input } else { partial };
        let [received, own, partial] = [received, own, partial].map(Span::whole);
        match (self.senders.get((index / 2) as usize), self.receiver) {
            (Some(sender), _) if index.is_multiple_of(2) => round.recv(*sender, received),
            (Some(sender), _) if *sender < self.rank => round.combine(received, own, partial),
            (Some(_), _) => round.combine(own, received, partial),
            (None, Some(receiver)) => round.send(receiver, own),
            (None, None) => {}
        }
    }
}

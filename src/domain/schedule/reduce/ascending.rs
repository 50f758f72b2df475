//! Whole vectors up a tree, one child after the other.

use crate::program::Program;
use crate::{Buffer, Rank, Room, Round, Span};

/// The scratch buffers of a rank: one for its partial result unless that is the output, and one for messages that
/// cannot arrive there.
pub(crate) fn scratch(ascending: &Ascending) -> Vec<Room> {
    let direct = u32::from(ascending.arrives_in_place_of_result());
    let senders = ascending.senders.count();
    let is_inner = senders > 0 && ascending.receiver.is_some();
    let has_others = senders > direct;
    vec![Room::WHOLE; usize::from(is_inner) + usize::from(has_others)]
}

/// The ranks that send to a rank, in the order in which their vectors are combined.
pub(crate) enum Senders {
    /// These children.
    Children(Vec<Rank>),
    /// All others of this many ranks: those below the receiver from the nearest down, then those above it.
    Others(u32),
}

impl Senders {
    fn count(&self) -> u32 {
        match self {
            Self::Children(children) => children.len() as u32,
            Self::Others(ranks) => ranks - 1,
        }
    }

    /// The rank at an index, if there is one.
    fn get(&self, turn: u64, receiver: Rank) -> Option<Rank> {
        match self {
            Self::Children(children) => children.get(turn as usize).copied(),
            Self::Others(ranks) => {
                let below = u64::from(receiver).checked_sub(turn + 1);
                let other = below.unwrap_or(turn + 1);
                (turn + 1 < u64::from(*ranks)).then_some(other as Rank)
            }
        }
    }
}

/// One rank's part in a reduction of whole vectors along a tree.
pub(crate) struct Ascending {
    pub(crate) rank: Rank,
    /// The ranks that send. Vectors of lower ranks are left operands: in rank order if every subtree is a range of
    /// ranks next to those combined so far.
    pub(crate) senders: Senders,
    /// The rank that the partial result is sent to; `None` at the root.
    pub(crate) receiver: Option<Rank>,
    /// Whether the root's own vector is in the place of the result.
    pub(crate) in_place: bool,
}

impl Ascending {
    /// Whether the first message arrives in the place of the result and is combined there, which touches less memory
    /// than a separate operand.
    fn arrives_in_place_of_result(&self) -> bool {
        self.receiver.is_some() || !self.in_place
    }

    /// The buffers of the result, partial or final, and of messages that cannot arrive there.
    fn buffers(&self) -> [Buffer; 2] {
        match self.receiver {
            None => [Buffer::Output, Buffer::Scratch(0)],
            Some(_) => [Buffer::Scratch(0), Buffer::Scratch(1)],
        }
    }
}

impl Program for Ascending {
    fn rounds(&self) -> u64 {
        2 * u64::from(self.senders.count()) + u64::from(self.receiver.is_some())
    }

    fn round(&self, index: u64, round: &mut Round) {
        let is_first = index < 2;
        let [partial, other] = self.buffers();
        let received = if is_first && self.arrives_in_place_of_result() {
            partial
        } else {
            other
        };
        let own = if is_first { Buffer::Input } else { partial };
        let [received, own, partial] = [received, own, partial].map(Span::whole);
        match (self.senders.get(index / 2, self.rank), self.receiver) {
            (Some(sender), _) if index.is_multiple_of(2) => round.recv(sender, received),
            (Some(sender), _) => round.combine_by_rank(sender < self.rank, received, own, partial),
            (None, Some(receiver)) => round.send(receiver, own),
            (None, None) => {}
        }
    }
}

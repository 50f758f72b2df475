//! The matching of sends and receives of a rank that has several of them at once.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use schedule::Rank;

/// A send that has not been matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offer {
    /// Waits for its receiver, with its number of bytes, and its place among the messages of the sender's round.
    Waiting { bytes: u64, place: u32 },
    /// Is under way without it, with its index among the [`Early`] messages.
    Early(u32),
}

/// Unmatched sends and receives, first in, first out for each pair of ranks.
#[derive(Default)]
pub(super) struct Offers {
    sends: Pairs<OfferLine>,
    /// The number of unmatched receives.
    recvs: Pairs<u32>,
}

/// The offers of one rank to another.
struct OfferLine {
    first: Offer,
    others: VecDeque<Offer>,
}

/// Values by an offering rank and its partner, see [`pack_pair`].
type Pairs<T> = HashMap<u64, T, BuildHasherDefault<PairHasher>>;

impl Offers {
    pub(super) fn put_send(&mut self, from: Rank, to: Rank, offer: Offer) {
        match self.sends.entry(pack_pair(from, to)) {
            Entry::Occupied(mut line) => line.get_mut().others.push_back(offer),
            Entry::Vacant(line) => {
                line.insert(OfferLine {
                    first: offer,
                    others: VecDeque::new(),
                });
            }
        }
    }

    pub(super) fn put_recv(&mut self, from: Rank, to: Rank) {
        *self.recvs.entry(pack_pair(to, from)).or_default() += 1;
    }

    pub(super) fn take_send(&mut self, from: Rank, to: Rank) -> Option<Offer> {
        let Entry::Occupied(mut line) = self.sends.entry(pack_pair(from, to)) else {
            return None;
        };
        match line.get_mut().others.pop_front() {
            Some(next) => Some(std::mem::replace(&mut line.get_mut().first, next)),
            None => Some(line.remove().first),
        }
    }

    pub(super) fn take_recv(&mut self, from: Rank, to: Rank) -> bool {
        let Entry::Occupied(mut recvs) = self.recvs.entry(pack_pair(to, from)) else {
            return false;
        };
        *recvs.get_mut() -= 1;
        if *recvs.get() == 0 {
            recvs.remove();
        }
        true
    }
}

/// A message that started before its receiver had arrived.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Early {
    /// The time of its arrival, if it has started.
    pub(super) delivered: Option<f64>,
    /// Whether the receiver is waiting for it.
    pub(super) is_claimed: bool,
    /// Its index among the observed messages.
    pub(super) observed: usize,
}

/// The messages that started early and have not been received.
#[derive(Default)]
pub(super) struct Earlies {
    all: Vec<Early>,
    free: Vec<u32>,
}

impl Earlies {
    pub(super) fn add_early(&mut self) -> u32 {
        if let Some(number) = self.free.pop() {
            self.all[number as usize] = Early::default();
            return number;
        }
        self.all.push(Early::default());
        self.all.len() as u32 - 1
    }

    pub(super) fn get_mut(&mut self, number: u32) -> &mut Early {
        &mut self.all[number as usize]
    }

    pub(super) fn free_early(&mut self, number: u32) {
        self.free.push(number);
    }
}

/// Two numbers in one, ordered like the pair: a rank and one of its partners, for instance.
pub(super) fn pack_pair(rank: Rank, partner: u32) -> u64 {
    u64::from(rank) << 32 | u64::from(partner)
}

/// A hash function that spreads ranks, and keeps consecutive partners adjacent, since they are looked up one after the
/// other. All keys are our own, so collisions cannot be provoked.
#[derive(Default)]
pub(super) struct PairHasher(u64);

impl Hasher for PairHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u64(&mut self, pair: u64) {
        let (rank, partner) = (pair >> 32, pair & u64::from(u32::MAX));
        let place = rank.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        // The hash table distinguishes neighbours by the highest bits.
        self.0 = place.wrapping_add(partner).wrapping_add(partner << 57);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

//! Which sends and receives meet, where a rank has several of them at once.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use schedule::Rank;

/// A send that has not met its receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offer {
    /// Waits for its receiver; so many bytes.
    Waiting(u64),
    /// Is under way without it; its number among the [`Early`] ones.
    Early(u32),
}

/// Sends and receives that have not met, first in, first out for each pair of ranks.
#[derive(Default)]
pub(super) struct Offers {
    sends: Pairs<VecDeque<Offer>>,
    /// How many.
    recvs: Pairs<u32>,
}

type Pairs<T> = HashMap<(Rank, Rank), T, BuildHasherDefault<PairHasher>>;

impl Offers {
    pub(super) fn put_send(&mut self, from: Rank, to: Rank, offer: Offer) {
        self.sends.entry((from, to)).or_default().push_back(offer);
    }

    pub(super) fn put_recv(&mut self, from: Rank, to: Rank) {
        *self.recvs.entry((from, to)).or_default() += 1;
    }

    pub(super) fn take_send(&mut self, from: Rank, to: Rank) -> Option<Offer> {
        let sends = self.sends.get_mut(&(from, to))?;
        let offer = sends.pop_front();
        if sends.is_empty() {
            self.sends.remove(&(from, to));
        }
        offer
    }

    pub(super) fn take_recv(&mut self, from: Rank, to: Rank) -> bool {
        let Some(recvs) = self.recvs.get_mut(&(from, to)) else {
            return false;
        };
        *recvs -= 1;
        if *recvs == 0 {
            self.recvs.remove(&(from, to));
        }
        true
    }
}

/// A message that started before its receiver was there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Early {
    /// When it has arrived, if it has started.
    pub(super) delivered: Option<f64>,
    /// Whether the receiver is waiting for it.
    pub(super) is_claimed: bool,
    /// Its number among what was observed.
    pub(super) observed: usize,
}

/// The messages that started early and have not been received.
#[derive(Default)]
pub(super) struct Earlies {
    all: Vec<Early>,
    free: Vec<u32>,
}

impl Earlies {
    pub(super) fn add(&mut self) -> u32 {
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

    pub(super) fn forget(&mut self, number: u32) {
        self.free.push(number);
    }
}

/// Multiplies, which spreads pairs of small numbers well enough; nobody can choose them to collide
/// but themselves.
#[derive(Default)]
struct PairHasher(u64);

impl Hasher for PairHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32((*byte).into()));
    }

    fn write_u32(&mut self, number: u32) {
        let mixed =
            (self.0.rotate_left(32) ^ u64::from(number)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 29);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

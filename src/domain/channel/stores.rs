//! The stores by which data are written into send buffers.
//!
//! The core that has read a buffer last keeps its lines in its caches. *Cached* stores take them from there, many at a
//! time; the receiver then fetches them from the sender's cache. *Streaming* stores bypass the caches, so the receiver
//! fetches the line from memory. Which of them take less time for both ranks together depends on whether the cores have
//! a common last-level cache: an exchange of 64 KiB took 7 us by cached and 15 us by streaming stores on two cores of
//! an AMD EPYC that exchange a line in 50 ns, 24 and 14 us on two that take 200 ns. No interface of the system tells
//! reliably which cores a rank has, least of all in a virtual machine, so the sender compares the times of its own
//! stores, for each receiver. With more than two ranks, another one may have read a buffer last, and the choice is less
//! certain.

use std::ops::{Deref, DerefMut, Range};
use std::time::Instant;

use super::caches::{copy_cached, copy_streaming};
use super::pool::BUFFERS;

/// The kind of stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stores {
    Cached,
    Streaming,
}

/// A piece of a message in shared memory, to be written. Only [`Self::copy_from`] and [`Self::copy_from_slice`] use the
/// stores that the sender has chosen for it.
#[derive(Debug)]
pub struct SendBuffer<'a> {
    bytes: &'a mut [u8],
    stores: Stores,
}

impl<'a> SendBuffer<'a> {
    pub(crate) fn new(bytes: &'a mut [u8], stores: Stores) -> Self {
        Self { bytes, stores }
    }

    /// A part of the piece.
    #[inline]
    pub fn part(&mut self, range: Range<usize>) -> SendBuffer<'_> {
        SendBuffer::new(&mut self.bytes[range], self.stores)
    }

    /// Writes the whole piece.
    ///
    /// # Panics
    ///
    /// If the data are not as long.
    #[inline]
    pub fn copy_from_slice(&mut self, data: &[u8]) {
        assert_eq!(data.len(), self.bytes.len());
        // SAFETY: as long as the piece, and not a part of it, which is borrowed exclusively.
        unsafe { self.copy_from(data.as_ptr()) };
    }

    /// Writes the whole piece, from as many bytes at an address.
    ///
    /// # Safety
    ///
    /// These bytes are readable, and outside of the piece.
    #[inline]
    pub unsafe fn copy_from(&mut self, from: *const u8) {
        let (into, length) = (self.bytes.as_mut_ptr(), self.bytes.len());
        // SAFETY: the caller promises that `from` is readable for as many bytes as the piece has, and that they are
        // outside of the piece.
        unsafe {
            match self.stores {
                Stores::Cached => copy_cached(from, into, length),
                Stores::Streaming => copy_streaming(from, into, length),
            }
        }
    }
}

impl Deref for SendBuffer<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

impl DerefMut for SendBuffer<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        self.bytes
    }
}

/// The shortest piece for which there is a choice.
const LEAST_CHOSEN: usize = 4 << 10;
/// The number of such pieces after which the stores are compared again, since a rank may move to another core.
const EPOCH: u32 = 256;
/// The pieces of an epoch that are timed. Those before are not: they may be the first ones in their buffers, and wait
/// for the kernel.
const TIMED: Range<u32> = BUFFERS as u32..BUFFERS as u32 + 4;
/// Streaming stores are used if cached ones take more than this many times as long: they also keep the receiver
/// from fetching the data from a cache. Without a common cache the ratio is 3 to 6, with one it is 0.6 to 1.8.
const LEAST_RATIO: f64 = 2.0;

/// The stores of a timed piece: cached, streaming, streaming, cached, so that two kinds of messages in turn do not
/// get one kind of stores each.
fn stores_of_timed_piece(piece: u32) -> Stores {
    match piece.div_ceil(2) % 2 {
        0 => Stores::Cached,
        _ => Stores::Streaming,
    }
}

/// The choice of the stores for the messages to one receiver.
#[derive(Debug)]
pub(crate) struct StoreChoice {
    /// The number of pieces in this epoch that were long enough.
    pieces: u32,
    /// The shortest time of each kind in this epoch, in seconds for a byte.
    shortest: [f64; 2],
    chosen: Stores,
}

impl Default for StoreChoice {
    fn default() -> Self {
        Self {
            pieces: 0,
            shortest: [f64::INFINITY; 2],
            chosen: Stores::Cached,
        }
    }
}

impl StoreChoice {
    /// Writes a piece of a message; `fill` does that with the stores it is given.
    #[inline]
    pub(crate) fn write_piece(&mut self, length: usize, fill: impl FnOnce(Stores)) {
        if cfg!(not(target_arch = "x86_64")) || length < LEAST_CHOSEN {
            return fill(Stores::Cached);
        }
        if !TIMED.contains(&self.pieces) {
            self.pieces = (self.pieces + 1) % EPOCH;
            return fill(self.chosen);
        }
        let stores = stores_of_timed_piece(self.pieces);
        let begin = Instant::now();
        fill(stores);
        self.record_time(stores, begin.elapsed().as_secs_f64() / length as f64);
    }

    /// Records the time of a piece in seconds for a byte, and chooses after the last one of the epoch.
    fn record_time(&mut self, stores: Stores, seconds: f64) {
        let shortest = &mut self.shortest[stores as usize];
        *shortest = shortest.min(seconds);
        self.pieces += 1;
        if self.pieces == TIMED.end {
            let [cached, streaming] = std::mem::replace(&mut self.shortest, [f64::INFINITY; 2]);
            self.chosen = if cached > LEAST_RATIO * streaming {
                Stores::Streaming
            } else {
                Stores::Cached
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        EPOCH, LEAST_CHOSEN, SendBuffer, StoreChoice, Stores, TIMED, stores_of_timed_piece,
    };

    #[test]
    fn a_piece_is_written_in_parts_by_either_kind_of_stores() {
        let data: Vec<u8> = (0..10_000).map(|at| (at % 251) as u8).collect();
        for stores in [Stores::Cached, Stores::Streaming] {
            let mut written = vec![0; data.len()];
            let mut piece = SendBuffer::new(&mut written, stores);
            for part in [0..1, 1..3000, 3000..3001, 3001..10_000] {
                piece.part(part.clone()).copy_from_slice(&data[part]);
            }
            assert_eq!(written, data, "{stores:?}");
        }
    }

    /// The choice after an epoch in which pieces take these times, in turn: by cached and by streaming stores.
    fn after(choice: &mut StoreChoice, kinds: [[f64; 2]; 2]) -> Stores {
        for piece in TIMED {
            choice.pieces = piece;
            let stores = stores_of_timed_piece(piece);
            choice.record_time(stores, kinds[piece as usize % 2][stores as usize]);
        }
        choice.chosen
    }

    #[test]
    fn streaming_stores_are_chosen_where_cached_ones_take_much_longer() {
        let mut choice = StoreChoice::default();
        for _ in 0..2 {
            assert_eq!(after(&mut choice, [[1.9, 1.0]; 2]), Stores::Cached);
            assert_eq!(after(&mut choice, [[3.0, 1.0]; 2]), Stores::Streaming);
        }
        assert_eq!(after(&mut choice, [[0.5, 1.0]; 2]), Stores::Cached);
    }

    #[test]
    fn messages_that_take_longer_whatever_the_stores_do_not_decide() {
        let mut choice = StoreChoice::default();
        let kinds = [[1.0, 1.0], [9.0, 9.0]];
        assert_eq!(after(&mut choice, kinds), Stores::Cached);
        assert_eq!(after(&mut choice, [kinds[1], kinds[0]]), Stores::Cached);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn both_kinds_of_stores_are_tried_in_each_epoch() {
        let mut choice = StoreChoice::default();
        for _ in 0..2 {
            let mut tried = [0; 2];
            for _ in 0..EPOCH {
                choice.write_piece(LEAST_CHOSEN, |stores| tried[stores as usize] += 1);
                choice.chosen = Stores::Cached;
            }
            assert_eq!(tried[Stores::Streaming as usize], TIMED.len() / 2);
            choice.chosen = Stores::Streaming;
            choice.write_piece(LEAST_CHOSEN - 1, |stores| {
                assert_eq!(stores, Stores::Cached)
            });
            choice.chosen = Stores::Cached;
        }
    }
}

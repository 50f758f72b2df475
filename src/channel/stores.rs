//! The stores by which data are written into send buffers.
//!
//! The receiver's core has read a buffer's lines before, and keeps them in its caches. *Cached* stores take each line
//! from there; the receiver then fetches it from the sender's cache. *Streaming* stores bypass the caches, so the
//! receiver fetches the line from memory. If both cores have a last-level cache in common, cached stores are twice as
//! fast for both ranks together. If they do not, streaming stores are: on two cores of an AMD EPYC that exchange a
//! cache line in 200 ns, an exchange of 64 KiB took 11.8 us by these and 24.6 us by cached stores, while on two that
//! exchange one in 50 ns it took 12.9 and 7.6 us. No interface of the system tells reliably which cores a rank
//! has, least of all in a virtual machine, so the sender compares the times of its own stores.

use std::ops::{Deref, DerefMut, Range};
use std::time::Instant;

use super::caches::{copy_cached, copy_streaming};

/// The kind of stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stores {
    Cached,
    Streaming,
}

/// A piece of a message in a send buffer, to be written.
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

    /// Writes the whole piece, from as many bytes at an address.
    ///
    /// # Safety
    ///
    /// These bytes are readable, and outside of the piece.
    #[inline]
    pub unsafe fn copy_from(&mut self, from: *const u8) {
        let (into, length) = (self.bytes.as_mut_ptr(), self.bytes.len());
        // SAFETY: the caller's.
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

/// The shortest piece whose stores are timed.
const LEAST_TIMED: usize = 4 << 10;
/// The number of such pieces after which the stores are compared again, since a rank may move to another core.
const EPOCH: u32 = 256;
/// The pieces of an epoch that are timed, the kinds of stores in turn. The first ones are not: they may be the first
/// in their buffers, and wait for the kernel.
const TIMED: Range<u32> = 4..8;
/// Streaming stores are used if cached ones take more than this many times as long: they also keep the receiver
/// from fetching the data from a cache. Without a common cache the ratio is 3 to 5, with one it is 1 to 1.9.
const LEAST_RATIO: f64 = 2.5;

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
    pub(crate) fn write(&mut self, length: usize, fill: impl FnOnce(Stores)) {
        let has_choice = cfg!(target_arch = "x86_64") && length >= LEAST_TIMED;
        if !has_choice || !TIMED.contains(&self.pieces) {
            self.pieces += u32::from(has_choice);
            self.pieces %= EPOCH;
            return fill(self.chosen);
        }
        let stores = match self.pieces % 2 {
            0 => Stores::Cached,
            _ => Stores::Streaming,
        };
        let begin = Instant::now();
        fill(stores);
        self.record(stores, begin.elapsed().as_secs_f64() / length as f64);
    }

    /// Records the time of a piece in seconds for a byte, and chooses after the last one of the epoch.
    fn record(&mut self, stores: Stores, seconds: f64) {
        let shortest = &mut self.shortest[stores as usize];
        *shortest = shortest.min(seconds);
        self.pieces += 1;
        if self.pieces == TIMED.end {
            let [cached, streaming] = std::mem::replace(&mut self.shortest, [f64::INFINITY; 2]);
            self.chosen = match cached > LEAST_RATIO * streaming {
                true => Stores::Streaming,
                false => Stores::Cached,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::caches::{copy_cached, copy_from_shared, copy_streaming};
    use super::{EPOCH, LEAST_TIMED, StoreChoice, Stores, TIMED};

    /// Lengths around those of lines, of chunks, and of what is fetched ahead; targets anywhere in a page.
    #[test]
    fn copies_change_their_target_only() {
        const PAGE: usize = 4096;
        let source: Vec<u8> = (0..20_000).map(|at| (at % 251) as u8).collect();
        let address = source.as_ptr().addr();
        for length in [0, 1, 63, 64, 1023, 1024, 1025, 2047, 2048, 5000, 16_384] {
            for distance in [0, 1, 16, 63, 64, 2048, 4095] {
                for copy in [copy_cached, copy_streaming, copy_from_shared] {
                    let mut target = vec![255; PAGE + length];
                    let start = (address + distance).wrapping_sub(target.as_ptr().addr()) % PAGE;
                    // SAFETY: within both vectors.
                    unsafe { copy(source.as_ptr(), target.as_mut_ptr().add(start), length) };
                    let mut expected = vec![255; PAGE + length];
                    expected[start..][..length].copy_from_slice(&source[..length]);
                    assert!(
                        target == expected,
                        "{length} bytes, {distance} behind the source"
                    );
                }
            }
        }
    }

    /// The stores of the pieces of an epoch, and the choice for the next ones.
    fn epoch(choice: &mut StoreChoice, seconds: [f64; 2]) -> Stores {
        for piece in 0..EPOCH {
            let is_timed = TIMED.contains(&piece);
            match is_timed {
                true => {
                    let stores = [Stores::Cached, Stores::Streaming][piece as usize % 2];
                    choice.record(stores, seconds[stores as usize]);
                }
                false => choice.write(LEAST_TIMED, |_| ()),
            }
        }
        choice.chosen
    }

    #[test]
    fn streaming_stores_are_chosen_where_cached_ones_take_much_longer() {
        let mut choice = StoreChoice::default();
        for _ in 0..2 {
            assert_eq!(epoch(&mut choice, [1.9, 1.0]), Stores::Cached);
            assert_eq!(epoch(&mut choice, [3.0, 1.0]), Stores::Streaming);
        }
        assert_eq!(epoch(&mut choice, [0.5, 1.0]), Stores::Cached);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn both_kinds_of_stores_are_tried_in_each_epoch() {
        let mut choice = StoreChoice::default();
        for _ in 0..2 {
            let mut tried = [0; 2];
            for _ in 0..EPOCH {
                choice.write(LEAST_TIMED, |stores| tried[stores as usize] += 1);
                choice.chosen = Stores::Cached;
                choice.write(LEAST_TIMED - 1, |stores| assert_eq!(stores, Stores::Cached));
            }
            assert_eq!(tried[Stores::Streaming as usize], TIMED.len() / 2);
        }
    }
}

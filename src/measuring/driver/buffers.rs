//! Buffers of the calls.
//!
//! With cold caches, calls rotate through copies of their buffers, which are laid out once per cell.

use exec::{Bytes, Call};
use schedule::Collective;
use wire::ColdCaches;

use crate::data;

/// The length of a cache line. The distance between copies is a multiple of it.
const LINE_BYTES: usize = 64;

/// The buffers of one rank, or several copies of them that calls use in rotation.
pub(crate) struct Buffers {
    input: BufferCopies,
    output: BufferCopies,
    /// The expected output, if the rank has one.
    expected: Option<Bytes>,
    rotation: Rotation,
}

/// Copies of one buffer, laid out one after the other.
struct BufferCopies {
    bytes: Bytes,
    /// The length of one copy.
    length: usize,
    /// The distance from one copy to the next.
    distance: usize,
}

impl Buffers {
    /// Makes this many copies of a rank's buffers for a call.
    pub(crate) fn new(call: &Call, rank: u32, ranks: u32, copies: usize) -> Self {
        let rotation = Rotation::new(copies);
        let input = data::input_buffer(call, rank, ranks);
        let expected = data::expected_output(call, rank, ranks);
        let output = match &expected {
            // The data that the root sends.
            Some(vector) if call.collective == Collective::Bcast && rank == call.root => {
                vector.clone()
            }
            _ => Bytes::zeroed(call.output_bytes(rank, ranks) as usize),
        };
        Self {
            input: BufferCopies::from_first(input, rotation),
            output: BufferCopies::from_first(output, rotation),
            expected,
            rotation,
        }
    }

    /// The buffers of the next call.
    #[inline]
    pub(crate) fn next(&mut self) -> (&[u8], &mut [u8]) {
        let copy = self.rotation.next_copy();
        (
            self.input.bytes_of_copy(copy),
            self.output.mut_bytes_of_copy(copy),
        )
    }

    /// The buffers of the next call, and its expected output.
    pub(crate) fn next_with_expected_output(&mut self) -> (&[u8], &mut [u8], Option<&[u8]>) {
        let copy = self.rotation.next_copy();
        (
            self.input.bytes_of_copy(copy),
            self.output.mut_bytes_of_copy(copy),
            self.expected.as_ref().map(Bytes::as_slice),
        )
    }
}

impl BufferCopies {
    fn from_first(first: Bytes, rotation: Rotation) -> Self {
        let length = first.as_slice().len();
        let distance = length.next_multiple_of(LINE_BYTES);
        if rotation.copies == 1 || length == 0 {
            return Self {
                bytes: first,
                length,
                distance: 0,
            };
        }
        let mut bytes = Bytes::zeroed(rotation.copies * distance);
        let mut order = rotation;
        // Filled in the order of their use, so that the next call does not find the latest written copies cached.
        for _ in 0..rotation.copies {
            let begin = order.next_copy() * distance;
            bytes.as_mut_slice()[begin..][..length].copy_from_slice(first.as_slice());
        }
        Self {
            bytes,
            length,
            distance,
        }
    }

    fn bytes_of_copy(&self, copy: usize) -> &[u8] {
        &self.bytes.as_slice()[copy * self.distance..][..self.length]
    }

    fn mut_bytes_of_copy(&mut self, copy: usize) -> &mut [u8] {
        &mut self.bytes.as_mut_slice()[copy * self.distance..][..self.length]
    }
}

/// The order in which copies are used: each once before any is used again, and neighbours far apart, so that no
/// prefetcher loads the next copy.
#[derive(Clone, Copy, Debug)]
struct Rotation {
    copies: usize,
    step: usize,
    at: usize,
}

impl Rotation {
    fn new(copies: usize) -> Self {
        let copies = copies.max(1);
        // Successive multiples of a step near the golden section spread evenly.
        let mut step = (copies as f64 * 0.618) as usize;
        while greatest_common_divisor(step, copies) != 1 {
            step += 1;
        }
        Self {
            copies,
            step,
            at: 0,
        }
    }

    #[inline]
    fn next_copy(&mut self) -> usize {
        let copy = self.at;
        self.at += self.step;
        if self.at >= self.copies {
            self.at -= self.copies;
        }
        copy
    }
}

fn greatest_common_divisor(mut a: usize, mut b: usize) -> usize {
    while a != 0 {
        (a, b) = (b % a, a);
    }
    b
}

/// The number of copies of a call's buffers for which the copies of all ranks on a rank's node together exceed twice
/// the caches. One if caches may be warm, or if no data are moved. They take at most twice the caches and one more
/// copy. `nodes` lists the ranks of each node.
pub(crate) fn needed_buffer_copies(
    call: &Call,
    rank: u32,
    nodes: &[Vec<u32>],
    cold: Option<ColdCaches>,
) -> usize {
    let ranks = nodes.iter().map(Vec::len).sum::<usize>() as u32;
    let lines = |bytes: u64| bytes.next_multiple_of(LINE_BYTES as u64);
    let of_rank = |member: &u32| {
        lines(call.input_bytes(*member, ranks)) + lines(call.output_bytes(*member, ranks))
    };
    let node = nodes.iter().find(|node| node.contains(&rank));
    let bytes: u64 = node.into_iter().flatten().map(of_rank).sum();
    match cold {
        Some(caches) if bytes > 0 => (2 * caches.last_level_bytes / bytes + 1) as usize,
        _ => 1,
    }
}

#[cfg(test)]
#[path = "tests/unit/buffers.rs"]
mod tests;

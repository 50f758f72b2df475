//! The memory that calls work on.

use exec::{Bytes, Call};
use schedule::Collective;
use wire::ColdCaches;

use crate::data;

/// What moves between memory and caches at once; copies begin so far apart, or several times that.
const LINE_BYTES: usize = 64;

/// The buffers of one rank, or several copies of them that calls take in turns.
pub(crate) struct Buffers {
    input: Copies,
    output: Copies,
    /// What must arrive, where something does.
    expected: Option<Bytes>,
    rotation: Rotation,
}

/// Copies of one buffer, one behind the other.
struct Copies {
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
        let input = data::input(call, rank, ranks);
        let expected = data::expected(call, rank, ranks);
        let output = match &expected {
            // What the root sends.
            Some(vector) if call.collective == Collective::Bcast && rank == call.root => {
                vector.clone()
            }
            _ => Bytes::zeroed(call.output_bytes(rank, ranks) as usize),
        };
        Self {
            input: Copies::of(input, rotation),
            output: Copies::of(output, rotation),
            expected,
            rotation,
        }
    }

    /// The buffers of the next call.
    #[inline]
    pub(crate) fn next(&mut self) -> (&[u8], &mut [u8]) {
        let copy = self.rotation.next();
        (self.input.slice(copy), self.output.mut_slice(copy))
    }

    /// The same for a call whose result is looked at, and what must arrive, where something does.
    pub(crate) fn next_and_expected(&mut self) -> (&[u8], &mut [u8], Option<&[u8]>) {
        let copy = self.rotation.next();
        (
            self.input.slice(copy),
            self.output.mut_slice(copy),
            self.expected.as_ref().map(Bytes::as_slice),
        )
    }
}

impl Copies {
    fn of(first: Bytes, rotation: Rotation) -> Self {
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
        // Copies are filled in the order in which calls will use them: no call finds in caches what was just written.
        for _ in 0..rotation.copies {
            let begin = order.next() * distance;
            bytes.as_mut_slice()[begin..][..length].copy_from_slice(first.as_slice());
        }
        Self {
            bytes,
            length,
            distance,
        }
    }

    fn slice(&self, copy: usize) -> &[u8] {
        &self.bytes.as_slice()[copy * self.distance..][..self.length]
    }

    fn mut_slice(&mut self, copy: usize) -> &mut [u8] {
        &mut self.bytes.as_mut_slice()[copy * self.distance..][..self.length]
    }
}

/// The order in which copies take turns: all of them before any comes again, and neighbours far apart, so
/// that nothing fetches the next one in advance.
#[derive(Clone, Copy, Debug)]
struct Rotation {
    copies: usize,
    step: usize,
    at: usize,
}

impl Rotation {
    fn new(copies: usize) -> Self {
        let copies = copies.max(1);
        // Near the golden section successive multiples spread evenly.
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
    fn next(&mut self) -> usize {
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

/// How many copies of a call's buffers the ranks on a rank's node need, so that all of these are
/// together larger than twice the caches: one where caches may be warm, or nothing is moved. They
/// take no more than twice the caches and one copy. `nodes` are lists of ranks.
pub(crate) fn copies(
    call: &Call,
    rank: u32,
    nodes: &[Vec<u32>],
    cold: Option<ColdCaches>,
) -> usize {
    let ranks = nodes.iter().map(Vec::len).sum::<usize>() as u32;
    let lines = |bytes: u64| bytes.next_multiple_of(LINE_BYTES as u64);
    let of_rank =
        |rank: &u32| lines(call.input_bytes(*rank, ranks)) + lines(call.output_bytes(*rank, ranks));
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

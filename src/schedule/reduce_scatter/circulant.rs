//! The circulant allgather run backwards.

use super::{parts, ring};
use crate::program::Program;
use crate::registry::Algorithm;
use crate::shape::log2_ceil;
use crate::tree::circulant::distance;
use crate::{Buffer, Cost, Rank, Room, Round, Shape, Span};

/// Cost `L alpha + (p - 1)/p (beta + gamma) m` with `L = ceil(log2 p)` and `m` the whole vector, for
/// every p: the least of messages and bytes, without folding. Parts are combined cyclically, not in order.
///
/// A rank has combined contributions to a range of parts that starts with its own. In every step it sends those of
/// the farther half, and combines those of the nearer half with what it receives.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    id: "circulant",
    summary: "halves of what is left are sent on at distances p/2, p/4, ..., 1, rounded up, for any p",
    source: "Träff 2024, arXiv 2410.14234",
    formula: "L alpha + (p-1)/p (beta + gamma) m",
    cost: |ranks| {
        let others = u64::from(ranks) - 1;
        Some(Cost::Fixed {
            steps: log2_ceil(ranks).into(),
            moved: others,
            combined: others,
            parts: ranks.into(),
        })
    },
    scratch: |shape, rank| {
        let nearer = shape.ranks.div_ceil(2);
        [shape.ranks - nearer, nearer]
            .map(|count| Room::parts(shape.ranks, rank, count))
            .into()
    },
    program: |shape, rank| {
        Box::new(Circulant {
            shape: shape.clone(),
            rank,
        })
    },
    ..ring::ALGORITHM
};

const RECEIVED: Buffer = Buffer::Scratch(0);
const PARTIAL: Buffer = Buffer::Scratch(1);

struct Circulant {
    shape: Shape,
    rank: Rank,
}

impl Circulant {
    fn steps(&self) -> u32 {
        log2_ceil(self.shape.ranks)
    }

    /// The parts of `count` ranks from the one `distance` after this one.
    fn parts(&self, buffer: Buffer, distance: u32, count: u32) -> Span {
        let ranks = self.shape.ranks;
        parts(buffer, (self.rank + distance) % ranks, count, ranks)
    }
}

impl Program for Circulant {
    fn rounds(&self) -> u64 {
        2 * u64::from(self.steps()) + u64::from(self.shape.in_place)
    }

    fn round(&self, index: u64, round: &mut Round) {
        let Shape {
            ranks, in_place, ..
        } = self.shape;
        let own = |buffer| self.parts(buffer, 0, 1);
        let Some(left) = self.steps().checked_sub(1 + index as u32 / 2) else {
            // In place: only now is the input no longer needed.
            return round.copy(own(PARTIAL), own(Buffer::Output));
        };
        let [kept, held] = [left, left + 1].map(|step| distance(ranks, step));
        let from = match index < 2 {
            true => Buffer::Input,
            false => PARTIAL,
        };
        let arriving = self.parts(RECEIVED, 0, held - kept);
        if index.is_multiple_of(2) {
            round.send(
                (self.rank + kept) % ranks,
                self.parts(from, kept, held - kept),
            );
            round.recv((self.rank + (ranks - kept)) % ranks, arriving);
            if index == 0 && kept > held - kept {
                // The part that receives no contribution in this step.
                let middle = self.parts(Buffer::Input, kept - 1, 1);
                round.copy(middle, middle.of(PARTIAL));
            }
            return;
        }
        let into = match left == 0 && !in_place {
            true => Buffer::Output,
            false => PARTIAL,
        };
        for span in arriving.unwrapped() {
            round.combine(span, span.of(from), span.of(into));
        }
    }
}

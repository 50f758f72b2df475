//! The circulant allgather run backwards.

use super::{parts, ring};
use crate::program::Program;
use crate::registry::Algorithm;
use crate::shape::log2_ceil;
use crate::tree::circulant::{circulant_distances, step_messages};
use crate::{Buffer, Cost, Rank, Room, Round, Shape, Span};

/// Cost `L alpha + (p - 1)/p (beta + gamma) m` with `L = ceil(log2 p)` and `m` the whole vector, for every p: the
/// fewest messages and bytes, without folding. Parts are combined cyclically, not in order.
///
/// A rank has combined contributions to a range of parts that starts with its own. In every step it sends those of
/// the farther half, and combines those of the nearer half with what it receives.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    id: "circulant",
    summary: "halves of what is left are sent on at distances p/2, p/4, ..., 1, rounded up, for any p",
    source: "Träff 2024, arXiv 2410.14234",
    formula: "L alpha + (p-1)/p (beta + gamma) m",
    cost: |ranks| Some(Cost::of_parts(ranks, log2_ceil(ranks), [1, 1])),
    scratch: |shape, rank| scratch(2, shape, rank),
    program: |shape, rank| program(2, shape, rank),
    ..ring::ALGORITHM
};

const PARTIAL: Buffer = Buffer::Scratch(0);

/// The buffer in which the message at a place of a step arrives.
fn received(place: usize) -> Buffer {
    Buffer::Scratch(1 + place as u8)
}

/// The steps, farthest first: the number of parts that a rank keeps, and the number that it held before.
fn steps(radix: u32, ranks: u32) -> Vec<[u32; 2]> {
    let distances = circulant_distances(radix, ranks);
    let steps = distances.windows(2).rev();
    steps.map(|step| [step[0], step[1]]).collect()
}

/// The rounds of a step: that of its messages, and one for combining the data of each.
fn rounds([kept, held]: [u32; 2]) -> u32 {
    held.div_ceil(kept)
}

/// The scratch buffers of a rank whose range of parts shrinks up to `radix` times in a step: one for the parts that it
/// keeps in the first step, and one for each message of a step.
pub(super) fn scratch(radix: u32, shape: &Shape, rank: Rank) -> Vec<Room> {
    let steps = steps(radix, shape.ranks);
    let mut counts = Vec::with_capacity(radix.min(shape.ranks) as usize);
    counts.extend(steps.first().map(|[kept, _]| *kept));
    for step in steps {
        for (place, (_, count)) in step_messages(step).enumerate() {
            match counts.get_mut(1 + place) {
                Some(most) => *most = count.max(*most),
                None => counts.push(count),
            }
        }
    }
    let room = |count| Room::parts(shape.ranks, rank, count);
    counts.into_iter().map(room).collect()
}

/// The program of such a rank.
pub(super) fn program(radix: u32, shape: &Shape, rank: Rank) -> Box<dyn Program> {
    Box::new(Circulant {
        rank,
        ranks: shape.ranks,
        in_place: shape.in_place,
        steps: steps(radix, shape.ranks),
    })
}

struct Circulant {
    rank: Rank,
    ranks: u32,
    in_place: bool,
    steps: Vec<[u32; 2]>,
}

impl Circulant {
    /// The parts of `count` ranks from the one `distance` after this one.
    fn parts(&self, buffer: Buffer, distance: u32, count: u32) -> Span {
        parts(
            buffer,
            (self.rank + distance) % self.ranks,
            count,
            self.ranks,
        )
    }

    /// The messages of a step at once.
    fn exchange(&self, turn: usize, round: &mut Round) {
        let [kept, _] = self.steps[turn];
        let own = if turn == 0 { Buffer::Input } else { PARTIAL };
        for (place, (distance, count)) in step_messages(self.steps[turn]).enumerate() {
            let (to, from) = (self.rank + distance, self.rank + (self.ranks - distance));
            round.send(to % self.ranks, self.parts(own, distance, count));
            round.recv(from % self.ranks, self.parts(received(place), 0, count));
            if turn == 0 && place == 0 && count < kept {
                // The kept parts that no message of this step contributes to.
                let rest = self.parts(Buffer::Input, count, kept - count);
                for span in rest.unwrapped_pieces() {
                    round.copy(span, span.in_buffer(PARTIAL));
                }
            }
        }
    }

    /// Combines the data of one of these messages.
    fn combine(&self, turn: usize, place: usize, round: &mut Round) {
        let [kept, _] = self.steps[turn];
        let mut messages = step_messages(self.steps[turn]).skip(place);
        let Some((_, count)) = messages.next() else {
            return;
        };
        let is_last = kept == 1 && messages.next().is_none();
        let into = if is_last && !self.in_place {
            Buffer::Output
        } else {
            PARTIAL
        };
        let own = if turn == 0 && place == 0 {
            Buffer::Input
        } else {
            PARTIAL
        };
        for span in self.parts(received(place), 0, count).unwrapped_pieces() {
            round.combine(span, span.in_buffer(own), span.in_buffer(into));
        }
    }
}

impl Program for Circulant {
    fn rounds(&self) -> u64 {
        let rounds = self.steps.iter().map(|step| u64::from(rounds(*step)));
        rounds.sum::<u64>() + u64::from(self.in_place)
    }

    fn round(&self, index: u64, round: &mut Round) {
        let mut index = index as u32;
        for (turn, step) in self.steps.iter().enumerate() {
            let rounds = rounds(*step);
            match index {
                0 => return self.exchange(turn, round),
                place if place < rounds => return self.combine(turn, place as usize - 1, round),
                _ => index -= rounds,
            }
        }
        // The output may be in the memory of the input, which is no longer needed from here on.
        let own = |buffer| self.parts(buffer, 0, 1);
        round.copy(own(PARTIAL), own(Buffer::Output));
    }
}

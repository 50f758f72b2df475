//! Recursive halving: partners at distances p/2, ..., 2, 1 exchange halves of what is left.

use super::folded::{self, PARTIAL, Place, RECEIVED, Steps};
use super::parts;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::pairing::Pairing;
use crate::{Buffer, Collective, Cost, Span};

/// Cost `L alpha + (p - 1)/p (beta + gamma) m` if `p = 2^L`, m the whole vector. Otherwise ranks
/// fold to the next lower power of two first, at one whole vector more, and those folded away get
/// their part at the end. Distant ranks are combined first, so not in order.
///
/// Among a power of two it is the dual of the allgather by recursive doubling; it is not derived from it, because it
/// combines a part in every step and folds whole vectors, while the allgather folds parts.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::ReduceScatter,
    id: "recursive_halving",
    summary: "halves of what is left are exchanged at distances P/2, ..., 2, 1; folded to a power of two first",
    source: "Thakur, Rabenseifner, Gropp 2005",
    formula: "L alpha + (p-1)/p (beta + gamma) m if p = 2^L",
    ordered: false,
    ordered_at_ends: false,
    cost: |ranks| {
        let cost = Cost::of_parts(ranks, ranks.ilog2(), [1, 1]);
        ranks.is_power_of_two().then_some(cost)
    },
    pieces: |ranks| ranks,
    scratch: folded::scratch,
    program: |shape, rank| folded::program(STEPS, shape, rank),
    ..PLAIN
};

const STEPS: Steps = Steps {
    pairing: Pairing::Binary,
    exchange: |place, step, own, round| {
        let other = partner(place, step);
        let to = place.fold.rank_at_position(other);
        round.send(to, group(place, own, other, step));
        round.recv(to, group(place, RECEIVED, place.position, step));
    },
    combine: |place, step, own, round| {
        let kept = group(place, RECEIVED, place.position, step);
        round.combine(kept, kept.in_buffer(own), kept.in_buffer(PARTIAL));
    },
    exchange_parts: None,
};

/// The distances, the farthest first.
fn distance(place: &Place, step: u32) -> u32 {
    place.fold.positions() >> (step + 1)
}

fn partner(place: &Place, step: u32) -> u32 {
    place.position ^ distance(place, step)
}

/// The parts of the ranks that a position's half represents.
fn group(place: &Place, buffer: Buffer, position: u32, step: u32) -> Span {
    let size = distance(place, step);
    let ranks = place.fold.ranks_at_positions(position & !(size - 1), size);
    parts(buffer, ranks.start, ranks.end - ranks.start, place.ranks)
}

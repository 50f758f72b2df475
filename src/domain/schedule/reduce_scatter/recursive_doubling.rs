//! Recursive doubling: partners at distances 1, 2, 4, ... exchange all that others still need.

use super::folded::{self, PARTIAL, Place, RECEIVED, Steps};
use super::parts;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::pairing::Pairing;
use crate::{Buffer, Collective, Cost, Span};

/// Cost `L alpha + (L - (p - 1)/p) beta m` if `p = 2^L`, m the whole vector; for operators that do
/// not commute, as neighbours are combined first.
///
/// Before step `k` an aligned group of `2^k` positions has combined its contributions to all parts
/// outside the group, on each of its members, and to a member's own part on that member. A rank
/// sends its partner the first and combines what its partner's group sends: for its own part, and
/// for those outside both groups.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::ReduceScatter,
    id: "recursive_doubling",
    summary: "all that others still need is exchanged at distances 1, 2, 4, ..., neighbours first",
    source: "Thakur, Rabenseifner, Gropp 2005",
    formula: "L alpha + (L - (p-1)/p) beta m + (L + (L+2)/p - 2) gamma m if p = 2^L",
    cost: |ranks| {
        let (p, levels) = (u64::from(ranks), u64::from(ranks.ilog2()));
        ranks.is_power_of_two().then_some(Cost::Fixed {
            steps: levels,
            moved: levels * p - (p - 1),
            // The part of its own in every step, and all outside both groups.
            combined: levels + levels * p - 2 * (p - 1),
            parts: p,
        })
    },
    pieces: |ranks| ranks,
    scratch: folded::scratch,
    program: |shape, rank| folded::program(STEPS, shape, rank),
    ..PLAIN
};

const STEPS: Steps = Steps {
    pairing: Pairing::Binary,
    exchange: |place, step, own, round| {
        let other = place.partner(step);
        let to = place.fold.rank_at_position(other);
        round.send(to, outside(place, own, place.position, step));
        round.recv(to, outside(place, RECEIVED, other, step));
    },
    combine: |place, step, own, round| {
        let other = place.partner(step);
        let needed = [
            needed_here(place, RECEIVED),
            outside(place, RECEIVED, other, step + 1),
        ];
        for part in needed.into_iter().flat_map(Span::unwrapped_pieces) {
            let (own, into) = (part.in_buffer(own), part.in_buffer(PARTIAL));
            round.combine_by_rank(other < place.position, part, own, into);
        }
    },
    exchange_parts: None,
};

/// The parts of all ranks except those that the aligned group of `2^step` positions around this one represents.
fn outside(place: &Place, buffer: Buffer, position: u32, step: u32) -> Span {
    let group = place
        .fold
        .ranks_at_positions(position >> step << step, 1 << step);
    let count = place.ranks - (group.end - group.start);
    parts(buffer, group.end % place.ranks, count, place.ranks)
}

/// The parts of the ranks that this position represents.
fn needed_here(place: &Place, buffer: Buffer) -> Span {
    let ranks = place.fold.ranks_at_positions(place.position, 1);
    parts(buffer, ranks.start, ranks.end - ranks.start, place.ranks)
}

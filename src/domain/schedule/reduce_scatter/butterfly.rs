//! A butterfly: partners at distances 1, 2, 4, ... exchange halves of what is left.

use super::folded::{self, PARTIAL, Place, RECEIVED, Steps};
use super::parts;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::pairing::Pairing;
use crate::{Buffer, Collective, Cost, Span};

/// Cost `(L + 1) alpha + ((p - 1)/p + 1/p) beta m + (p - 1)/p gamma m` if `p = 2^L >= 4`, m the whole
/// vector; for operators that do not commute, as neighbours are combined first.
///
/// Near partners exchange the most and far ones the least: the long messages, which recursive halving sends between
/// nodes, stay within nodes. In the end a rank has the part of the rank that has the same bits in the opposite order,
/// and the two exchange these parts. Other numbers of ranks fold as in recursive halving.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::ReduceScatter,
    id: "butterfly",
    summary: "halves of what is left are exchanged at distances 1, 2, 4, ..., neighbours first; parts change places in the end",
    source: "Träff 2005, An improved algorithm for (non-commutative) reduce-scatter",
    formula: "(L+1) alpha + beta m + (p-1)/p gamma m if p = 2^L >= 4",
    cost: |ranks| {
        let others = u64::from(ranks) - 1;
        let exchange = u64::from(ranks > 2);
        ranks.is_power_of_two().then_some(Cost::Fixed {
            steps: u64::from(ranks.ilog2()) + exchange,
            moved: others + exchange,
            combined: others,
            parts: ranks.into(),
        })
    },
    pieces: |ranks| ranks,
    scratch: folded::scratch,
    program: |shape, rank| folded::program(STEPS, shape, rank),
    ..PLAIN
};

/// The steps, at distances 1, 2, 4, ... or between Bine's partners.
pub(super) const STEPS: Steps = Steps {
    pairing: Pairing::Binary,
    exchange: |place, step, own, round| {
        let other = place.partner(step);
        let to = place.fold.rank_at_position(other);
        round.send(to, left(place, own, other, step + 1));
        round.recv(to, left(place, RECEIVED, place.position, step + 1));
    },
    combine: |place, step, own, round| {
        let other = place.partner(step);
        let kept = left(place, RECEIVED, place.position, step + 1);
        round.combine_by_rank(
            other < place.position,
            kept,
            kept.in_buffer(own),
            kept.in_buffer(PARTIAL),
        );
    },
    exchange_parts: Some(|place, round| {
        let steps = place.fold.steps();
        let held = place.pairing.block_of_position(place.position, steps);
        if held != place.position {
            let holder = place.pairing.position_of_block(place.position, steps);
            round.send(place.fold.rank_at_position(held), stood_for(place, held));
            round.recv(
                place.fold.rank_at_position(holder),
                stood_for(place, place.position),
            );
        }
    }),
};

/// The parts that a position is still responsible for after this many halvings.
fn left(place: &Place, buffer: Buffer, position: u32, halvings: u32) -> Span {
    let size = place.fold.positions() >> halvings;
    let first = place
        .pairing
        .block_of_position(position, place.fold.steps())
        & !(size - 1);
    let ranks = place.fold.ranks_at_positions(first, size);
    parts(buffer, ranks.start, ranks.end - ranks.start, place.ranks)
}

/// The combined parts of the ranks that a position represents.
fn stood_for(place: &Place, position: u32) -> Span {
    let ranks = place.fold.ranks_at_positions(position, 1);
    parts(PARTIAL, ranks.start, ranks.end - ranks.start, place.ranks)
}

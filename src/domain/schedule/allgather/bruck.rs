//! Bruck's algorithm: everything that has been gathered is passed on, at doubling distances.

use super::exchanging::{self, Place};
use crate::registry::{Algorithm, PLAIN};
use crate::shape::log2_ceil;
use crate::{Collective, Cost, Round, Translation};

/// Cost `L alpha + (p - 1) beta m` with `L = ceil(log2 p)`, for every p.
///
/// A rank holds a growing cyclic range of contributions that begins with its own. Such a range is a
/// message of at most two pieces of the output, so the rotated copy of the original and its final
/// rotation are not needed.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allgather,
    id: "bruck",
    summary: "all that is gathered is passed on at distances 1, 2, 4, ..., for any number of ranks",
    source: "Bruck, Ho, Kipnis, Upfal, Weathersby 1997",
    formula: "L alpha + (p-1) beta m",
    cost: |ranks| Some(Cost::moving(log2_ceil(ranks).into(), u64::from(ranks) - 1)),
    translation: |_| Some(Translation::Ranks),
    program: |shape, rank| exchanging::program(log2_ceil, exchange, shape, rank),
    ..PLAIN
};

fn exchange(place: Place, step: u32, round: &mut Round) {
    let held = 1 << step;
    let count = held.min(place.ranks - held);
    let leaving = match step {
        0 => place.own(),
        _ => place.gathered(place.rank, count),
    };
    round.send(place.before(held), leaving);
    round.recv(place.after(held), place.gathered(place.after(held), count));
}

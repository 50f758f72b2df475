//! Every rank sends its contribution to every other, one after the other.

use super::exchanging::{self, Place};
use crate::registry::{Algorithm, PLAIN};
use crate::{Collective, Cost, Round, Translation};

/// Cost `(p - 1) (alpha + beta m)`. In step `i` each rank sends to the rank `i` further and receives from the rank
/// `i` before, so no rank ever receives two messages at once.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allgather,
    id: "linear",
    summary: "every rank sends to every other rank, at distances 1, 2, 3, ...",
    source: "folklore",
    formula: "(p-1) (alpha + beta m)",
    cost: |ranks| Some(Cost::whole(u64::from(ranks) - 1, 0)),
    translation: |_| Some(Translation::Ranks),
    program: |shape, rank| exchanging::program(|ranks| ranks - 1, exchange, shape, rank),
    ..PLAIN
};

fn exchange(place: Place, step: u32, round: &mut Round) {
    let (to, from) = (place.after(step + 1), place.before(step + 1));
    round.send(to, place.own());
    round.recv(from, place.gathered(from, 1));
}

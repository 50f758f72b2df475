//! The bucket algorithm: contributions travel around the ring of ranks.

use super::exchanging::{self, Place};
use crate::registry::{Algorithm, PLAIN};
use crate::{Collective, Cost, Round, Translation};

/// Cost `(p - 1) (alpha + beta m)`: the fewest bytes, and all messages are between neighbours.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allgather,
    id: "ring",
    summary: "bucket algorithm: contributions travel around the ring of ranks",
    source: "Chan, Heimlich, Purkayastha, van de Geijn 2007",
    formula: "(p-1) (alpha + beta m)",
    cost: |ranks| Some(Cost::whole(u64::from(ranks) - 1, 0)),
    translation: |_| Some(Translation::Ranks),
    program: |shape, rank| exchanging::program(|ranks| ranks - 1, exchange, shape, rank),
    ..PLAIN
};

fn exchange(place: Place, step: u32, round: &mut Round) {
    let leaving = match step {
        0 => place.own(),
        _ => place.gathered(place.before(step), 1),
    };
    round.send(place.after(1), leaving);
    round.recv(place.before(1), place.gathered(place.before(step + 1), 1));
}

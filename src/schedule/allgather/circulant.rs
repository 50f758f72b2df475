//! Bruck's exchange at distances that halve from the number of ranks.

use super::exchanging::{self, Place};
use crate::registry::{Algorithm, PLAIN};
use crate::shape::log2_ceil;
use crate::tree::circulant::distance;
use crate::{Collective, Cost, Round};

/// Cost `L alpha + (p - 1) beta m` with `L = ceil(log2 p)`, for every p.
///
/// As in Bruck's algorithm a rank holds a growing range of contributions that begins with its own; here
/// the distances are `p` halved, rounded up, so that the last message is the longest only by a rank.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allgather,
    id: "circulant",
    summary: "all that is gathered is passed on at distances p/2^L, ..., p/4, p/2, rounded up, for any p",
    source: "Träff 2024, arXiv 2410.14234",
    formula: "L alpha + (p-1) beta m",
    cost: |ranks| Some(Cost::moving(log2_ceil(ranks).into(), u64::from(ranks) - 1)),
    program: |shape, rank| exchanging::program(log2_ceil, exchange, shape, rank),
    ..PLAIN
};

fn exchange(place: Place, step: u32, round: &mut Round) {
    let [held, next] = [step, step + 1].map(|step| distance(place.ranks, step));
    let leaving = match step {
        0 => place.own(),
        _ => place.gathered(place.rank, next - held),
    };
    round.send(place.before(held), leaving);
    round.recv(
        place.after(held),
        place.gathered(place.after(held), next - held),
    );
}

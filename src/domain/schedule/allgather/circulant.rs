//! Bruck's exchange at distances that halve from the number of ranks.

use super::exchanging::{self, Place};
use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::shape::log2_ceil;
use crate::tree::circulant::{circulant_distances, step_messages};
use crate::{Collective, Cost, Rank, Round, Shape};

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
    program: |shape, rank| program(2, shape, rank),
    ..PLAIN
};

/// The program of a rank whose range grows up to `radix` times in a step.
pub(super) fn program(radix: u32, shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let held = circulant_distances(radix, shape.ranks);
    let steps = held.len() as u32 - 1;
    let exchange = move |place: Place, step: u32, round: &mut Round| {
        let step = step as usize;
        for (distance, count) in step_messages([held[step], held[step + 1]]) {
            let leaving = match step {
                0 => place.own(),
                _ => place.gathered(place.rank, count),
            };
            round.send(place.before(distance), leaving);
            let from = place.after(distance);
            round.recv(from, place.gathered(from, count));
        }
    };
    exchanging::program(|_| steps, exchange, shape, rank)
}

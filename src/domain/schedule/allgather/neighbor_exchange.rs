//! Neighbours exchange pairs of contributions, with the left and with the right one in turn.

use super::exchanging::{self, Place};
use crate::registry::{Algorithm, PLAIN};
use crate::{Collective, Cost, Rank, Round};

/// Cost `p/2 alpha + (p - 1) beta m`, for even p: half the messages of the ring.
///
/// Ranks `2a` and `2a + 1` form pair `a`. They first exchange their own contributions; then each
/// passes on, in every step to its other neighbour, the pair that it received in the step before.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allgather,
    id: "neighbor_exchange",
    summary: "pairs of contributions are exchanged with the left and the right neighbour in turn",
    source: "Chen, Zhang, Zhang, Yuan 2005",
    formula: "p/2 alpha + (p-1) beta m, p even",
    even_ranks: true,
    cost: |ranks| {
        let ranks = u64::from(ranks);
        Some(Cost::moving(ranks / 2, ranks - 1))
    },
    program: |shape, rank| exchanging::program(|ranks| ranks / 2, exchange, shape, rank),
    ..PLAIN
};

fn exchange(place: Place, step: u32, round: &mut Round) {
    let Place { rank, ranks } = place;
    let side = if rank.is_multiple_of(2) { 1 } else { -1 };
    let towards = if step.is_multiple_of(2) { side } else { -side };
    let partner = (i64::from(rank) + towards).rem_euclid(ranks.into()) as Rank;
    if step == 0 {
        round.send(partner, place.own());
        round.recv(partner, place.gathered(partner, 1));
        return;
    }
    let pair = |at_step: u32| {
        let pair = i64::from(rank / 2) + side * offset(at_step);
        place.gathered(2 * pair.rem_euclid(i64::from(ranks / 2)) as Rank, 2)
    };
    round.send(partner, pair(step - 1));
    round.recv(partner, pair(step));
}

/// The distance from its own pair to the pair that a rank of even number receives in a step; the other rank of the pair
/// receives the one at the same distance on the other side.
fn offset(step: u32) -> i64 {
    let distance = i64::from(step.div_ceil(2));
    if step.is_multiple_of(2) {
        distance
    } else {
        -distance
    }
}

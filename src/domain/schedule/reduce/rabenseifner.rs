//! Rabenseifner's algorithm, ranks beyond a power of two folded in balance.

use super::halving::{self, Folding, Target};
use crate::registry::{Algorithm, PLAIN};
use crate::{Collective, Cost};

/// Cost `2L alpha + 2 (p-1)/p beta m + (p-1)/p gamma m` if `p = 2^L`. Otherwise, with `P` the next
/// lower power of two, `2 alpha + beta m + gamma m/2` more than on `P` ranks.
///
/// A reduce-scatter by vector halving and distance doubling, then a binomial gather by vector doubling and distance
/// halving. The two of a folded pair combine a half of the vector each, then one sends its half to the other; the root
/// is never the one that is folded away, so no further message to it is needed, which Kurnosov's mail to the developers
/// of MPICH has. The mail credits the fold to Rabenseifner, whose fold sends whole vectors, see `rabenseifner_unbalanced`.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "rabenseifner",
    summary: "vector halving reduce-scatter, then binomial gather; folded in balance",
    source: "Rabenseifner 2004; balanced fold: Kurnosov 2017",
    formula: "2L alpha + 2 (p-1)/p beta m + (p-1)/p gamma m if p = 2^L",
    cost: |ranks| Some(cost(ranks, Folding::Balanced, false)),
    pieces: |ranks| 1 << ranks.ilog2(),
    scratch: |shape, rank| halving::scratch(Target::Root(shape.root), rank),
    program: |shape, rank| {
        halving::program(Folding::Balanced, Target::Root(shape.root), shape, rank)
    },
    ..PLAIN
};

/// The cost with root 0, in P-ths of the vector. With `unfolds` the ranks that are folded away get the result too.
pub(crate) fn cost(ranks: u32, folding: Folding, unfolds: bool) -> Cost {
    let steps = u64::from(ranks.ilog2());
    let parts = 1 << steps;
    let (messages, moved, combined) = match folding {
        _ if ranks.is_power_of_two() => (0, 0, 0),
        Folding::Balanced => (2, parts, parts / 2),
        Folding::Unbalanced => (1, parts, parts),
    };
    let unfolding = u64::from(unfolds && !ranks.is_power_of_two());
    Cost::Fixed {
        steps: messages + 2 * steps + unfolding,
        moved: moved + 2 * (parts - 1) + unfolding * parts,
        combined: combined + parts - 1,
        parts,
    }
}

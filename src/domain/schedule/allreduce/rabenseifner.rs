//! Rabenseifner's algorithm, ranks beyond a power of two folded in balance.

use crate::reduce::halving::{self, Folding, Target};
use crate::registry::{Algorithm, PLAIN};
use crate::tree::pairing::Pairing;
use crate::{Collective, reduce};

/// Cost `2L alpha + 2 (p-1)/p beta m + (p-1)/p gamma m` if `p = 2^L`. Otherwise, with `P` the next
/// lower power of two, `3 alpha + 2 beta m + gamma m/2` more than on `P` ranks.
///
/// A reduce-scatter by vector halving and distance doubling, then an allgather by vector doubling and distance halving.
/// The two of a folded pair combine a half of the vector each; one of them continues and sends the result to the other
/// in the end.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    id: "rabenseifner",
    summary: "vector halving reduce-scatter, then vector doubling allgather; folded in balance",
    source: "Rabenseifner 2004; balanced fold: Kurnosov 2017",
    formula: "2L alpha + 2 (p-1)/p beta m + (p-1)/p gamma m if p = 2^L",
    cost: |ranks| Some(reduce::rabenseifner::cost(ranks, Folding::Balanced, true)),
    pieces: |ranks| 1 << ranks.ilog2(),
    scratch: |_, rank| halving::scratch(EVERYWHERE, rank),
    program: |shape, rank| halving::program(Folding::Balanced, EVERYWHERE, shape, rank),
    ..PLAIN
};

const EVERYWHERE: Target = Target::Everywhere(Pairing::Binary);

//! Rabenseifner's algorithm with the classic fold.

use super::halving::{self, Folding, Target};
use super::rabenseifner;
use crate::registry::Algorithm;

/// As `rabenseifner`, but the odd ones of the folded ranks send their whole vector: this
/// costs `alpha + beta m + gamma m` more than on the next lower power of two. A comparison of both shows the gain from
/// balancing.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    id: "rabenseifner_unbalanced",
    summary: "vector halving reduce-scatter, then binomial gather; whole vectors folded",
    source: "Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005",
    cost: |ranks| Some(rabenseifner::cost(ranks, Folding::Unbalanced, false)),
    program: |shape, rank| {
        halving::program(Folding::Unbalanced, Target::Root(shape.root), shape, rank)
    },
    ..rabenseifner::ALGORITHM
};

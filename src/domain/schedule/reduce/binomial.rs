//! The binomial tree towards the root, in rank order for every root.

use super::{ascending, knomial};
use crate::registry::{Algorithm, PLAIN};
use crate::shape::log2_ceil;
use crate::{BracketedBy, Collective, Cost};

/// Cost `L (alpha + beta m + gamma m)` for root 0.
///
/// Rank 0 is the tree's natural root. For another root `r` the tree covers `r..p` and its mirror image on `0..r`,
/// rooted at `r - 1`, which sends to `r` at the end: at most one step more.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "binomial",
    summary: "binomial tree, whole vector, ordered for every root by a mirrored lower tree",
    source: "Winklehner and Friedl 2016 for root 0; other roots: ours",
    formula: "L (alpha + beta m + gamma m)",
    brackets_by: &[BracketedBy::Root],
    cost: |ranks| Some(Cost::combining(log2_ceil(ranks))),
    scratch: |shape, rank| ascending::scratch(&knomial::place(2, shape, rank)),
    program: |shape, rank| Box::new(knomial::place(2, shape, rank)),
    ..PLAIN
};

//! The root sends to as many ranks at once as it may have requests.

use crate::registry::Algorithm;
use crate::scatter::reversed;
use crate::{Collective, Rank, Shape, gatherv};

/// The gatherv of the same name run backwards, at the same cost.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Scatterv,
    summary: "the root sends to the other ranks, to at most k at once",
    source: "the root's half of MPICH's scattered alltoallv",
    formula: "ceil((p-1)/k) alpha + (p-1) (o + beta m), o the overhead of a send",
    program: |shape: &Shape, rank: Rank| reversed(&gatherv::batched::ALGORITHM, shape, rank),
    ..gatherv::batched::ALGORITHM
};

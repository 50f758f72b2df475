//! The minimum spanning tree of the broadcast, run backwards.

use super::reversed;
use crate::registry::{Algorithm, one_block};
use crate::shape::log2_ceil;
use crate::{Collective, PipelineCost, bcast};

/// Cost `L (alpha + beta m + gamma m)` with `L = ceil(log2 p)`; ordered for every root, since each
/// combination joins the two halves of a range.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "mst",
    summary: "the minimum spanning tree broadcast run backwards",
    source: "Chan, Heimlich, Purkayastha, van de Geijn 2007",
    parameters: &[],
    ordered: true,
    cost,
    fixed_blocks: one_block,
    scratch: reversed::scratch,
    program: |shape, rank| reversed::program(bcast::mst::program, shape, rank),
};

fn cost(ranks: u32) -> Option<PipelineCost> {
    let rounds = log2_ceil(ranks).into();
    Some(PipelineCost {
        c1: rounds,
        c2: 0,
        g1: rounds,
        g2: 0,
    })
}

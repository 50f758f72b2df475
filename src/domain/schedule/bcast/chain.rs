//! The pipelined chain: every rank passes blocks on to the next, cyclically from the root.

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::relay::{Node, Spreading};
use crate::{Collective, Cost, Parameter, Rank, Shape};

/// `p - 2 + b` steps; optimal bandwidth for long vectors.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Bcast,
    id: "chain",
    summary: "pipeline along a chain of all ranks",
    source: "pipelining lemma: Träff 2021",
    formula: "(p-2 + b) (alpha + beta m/b)",
    parameters: &[Parameter::Blocks],
    cost: |ranks| Some(Cost::pipelined([i64::from(ranks) - 2, 1], [0, 0])),
    program,
    ..PLAIN
};

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let Shape { ranks, root, .. } = *shape;
    let last = (root + ranks - 1) % ranks;
    let next = (rank != last).then(|| (rank + 1) % ranks);
    let node = Node {
        parent: (rank != root).then(|| (rank + ranks - 1) % ranks),
        children: [next, None, None],
    };
    Box::new(Spreading::vector(node, shape.blocks))
}

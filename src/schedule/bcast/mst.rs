//! The minimum spanning tree: ranges of ranks are halved.

use crate::program::Program;
use crate::registry::{Algorithm, no_scratch, one_block};
use crate::shape::log2_ceil;
use crate::tree::spanning::Node;
use crate::{Buffer, Collective, PipelineCost, Rank, Round, Shape, Span};

/// Cost `L (alpha + beta m)` with `L = ceil(log2 p)`.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Bcast,
    id: "mst",
    summary: "minimum spanning tree: halve the range of ranks, send to the far end of the other half",
    source: "Chan, Heimlich, Purkayastha, van de Geijn 2007",
    parameters: &[],
    ordered: true,
    cost,
    fixed_blocks: one_block,
    scratch: no_scratch,
    program,
};

fn cost(ranks: u32) -> Option<PipelineCost> {
    Some(PipelineCost {
        c1: log2_ceil(ranks).into(),
        c2: 0,
        g1: 0,
        g2: 0,
    })
}

/// The program of a rank.
pub(crate) fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    Box::new(Spanning {
        node: Node::new(rank, shape.root, shape.ranks),
    })
}

struct Spanning {
    node: Node,
}

impl Program for Spanning {
    fn rounds(&self) -> u64 {
        self.node.children().len() as u64 + u64::from(self.node.parent().is_some())
    }

    fn round(&self, index: u64, round: &mut Round) {
        let vector = Span::whole(Buffer::Output);
        match (self.node.parent(), index) {
            (Some(parent), 0) => round.recv(parent, vector),
            (parent, index) => {
                let child = index as usize - usize::from(parent.is_some());
                round.send(self.node.children()[child], vector);
            }
        }
    }
}

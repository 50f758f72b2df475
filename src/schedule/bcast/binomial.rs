//! The binomial tree: in every round twice as many ranks have the vector.

use crate::program::Program;
use crate::registry::{Algorithm, no_scratch, one_block};
use crate::shape::log2_ceil;
use crate::tree::binomial::Node;
use crate::{Buffer, Collective, PipelineCost, Rank, Round, Shape, Span};

/// Cost `L (alpha + beta m)` with `L = ceil(log2 p)`.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Bcast,
    id: "binomial",
    summary: "binomial tree, whole vector, largest subtree first",
    source: "Thakur, Rabenseifner, Gropp 2005",
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

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let Shape { ranks, root, .. } = *shape;
    let node = Node::new((rank + ranks - root) % ranks, ranks);
    Box::new(Binomial { node, root, ranks })
}

/// Node `v` of the tree is rank `v + root`, cyclically.
struct Binomial {
    node: Node,
    root: Rank,
    ranks: u32,
}

impl Binomial {
    fn rank(&self, node: u32) -> Rank {
        ((u64::from(node) + u64::from(self.root)) % u64::from(self.ranks)) as Rank
    }
}

impl Program for Binomial {
    fn rounds(&self) -> u64 {
        u64::from(self.node.children()) + u64::from(self.node.parent().is_some())
    }

    fn round(&self, index: u64, round: &mut Round) {
        let vector = Span::whole(Buffer::Output);
        match self.node.parent() {
            Some(parent) if index == 0 => round.recv(self.rank(parent), vector),
            _ => {
                let left = (self.rounds() - index - 1) as u32;
                round.send(self.rank(self.node.child(left)), vector);
            }
        }
    }
}

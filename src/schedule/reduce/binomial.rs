//! The binomial tree towards the root, in rank order for every root.

use crate::program::{Program, alone};
use crate::registry::{Algorithm, one_block};
use crate::shape::log2_ceil;
use crate::tree::binomial::Node;
use crate::{Buffer, Collective, PipelineCost, Rank, Round, Scratch, Shape, Span};

/// Cost `L (alpha + beta m + gamma m)` for root 0.
///
/// Rank 0 is the tree's natural root. For another root `r` the tree stands on `r..p` and its
/// mirror image on `0..r`, rooted at `r - 1`, which sends to `r` at the end: at most one step more.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "binomial",
    summary: "binomial tree, whole vector, ordered for every root by a mirrored lower tree",
    source: "Winklehner and Friedl 2016",
    parameters: &[],
    ordered: true,
    cost,
    fixed_blocks: one_block,
    scratch,
    program,
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

const RECEIVED: Buffer = Buffer::Scratch(0);
const PARTIAL: Buffer = Buffer::Scratch(1);

fn scratch(_: &Shape) -> Vec<Scratch> {
    vec![Scratch::Whole, Scratch::Whole]
}

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let Shape {
        ranks,
        root,
        in_place,
        ..
    } = *shape;
    if ranks == 1 {
        return alone(in_place);
    }
    let upper = rank >= root;
    let node = if upper {
        Node::new(rank - root, ranks - root)
    } else {
        Node::new(root - 1 - rank, root)
    };
    Box::new(Binomial {
        node,
        upper,
        root,
        rank,
        source: shape.source_of(rank),
    })
}

struct Binomial {
    node: Node,
    /// Whether the rank stands in the tree of the root or in the mirrored one below it.
    upper: bool,
    root: Rank,
    rank: Rank,
    source: Buffer,
}

impl Binomial {
    fn rank(&self, node: u32) -> Rank {
        if self.upper {
            self.root + node
        } else {
            self.root - 1 - node
        }
    }

    fn is_root(&self) -> bool {
        self.rank == self.root
    }

    /// The senders in the order in which they are combined: the tree's children, nearest first,
    /// then for the root the root of the mirrored tree.
    fn sender(&self, index: u32) -> Rank {
        if index < self.node.children() {
            self.rank(self.node.child(index))
        } else {
            self.root - 1
        }
    }

    fn senders(&self) -> u32 {
        self.node.children() + u32::from(self.is_root() && self.root > 0)
    }

    fn receiver(&self) -> Option<Rank> {
        match self.node.parent() {
            Some(parent) => Some(self.rank(parent)),
            None => (!self.is_root()).then_some(self.root),
        }
    }
}

impl Program for Binomial {
    fn rounds(&self) -> u64 {
        2 * u64::from(self.senders()) + u64::from(!self.is_root())
    }

    fn round(&self, index: u64, round: &mut Round) {
        let received = Span::whole(RECEIVED);
        let partial = Span::whole(if self.is_root() {
            Buffer::Output
        } else {
            PARTIAL
        });
        let (sender, combine) = ((index / 2) as u32, index % 2 == 1);
        let nothing_combined = index < 2;
        let own = if nothing_combined {
            Span::whole(self.source)
        } else {
            partial
        };
        if sender == self.senders() {
            if let Some(receiver) = self.receiver() {
                round.send(receiver, own);
            }
        } else if !combine {
            round.recv(self.sender(sender), received);
        } else if self.sender(sender) > self.rank {
            round.combine(own, received, partial);
        } else {
            round.combine(received, own, partial);
        }
    }
}

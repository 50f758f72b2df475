//! A binomial tree whose ranks first learn how much data their children have.

use crate::gather;
use crate::program::{Program, SizesFirst};
use crate::registry::Algorithm;
use crate::tree::branch::binomial;
use crate::{Collective, Rank, Shape};

/// The tree of the gather with the same name. Before any data, a rank receives from each child the size of the data of the
/// child's subtree, and sends its parent the sum of these and its own. The root knows all sizes, and needs no such messages.
///
/// A rank so knows the length of every message that it receives or sends. The tree does not depend on sizes: a rank with most
/// of the data may be far from the root, and its data are then sent several times.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Gatherv,
    summary: "binomial tree, in which short messages first tell the sizes of subtrees",
    source: "Träff, EuroMPI 2018: sizes told first, here on a tree that does not depend on them",
    formula: "up to (2L-1) alpha + L beta p m, for even parts (2L-1) alpha + (p-1) beta m",
    tells_sizes: true,
    cost: |_| None,
    program: |shape, rank| {
        after_sizes(
            shape,
            rank,
            (gather::binomial::ALGORITHM.program)(shape, rank),
        )
    },
    ..gather::binomial::ALGORITHM
};

/// The program after the rounds in which sizes are told along the tree.
pub(crate) fn after_sizes(
    shape: &Shape,
    rank: Rank,
    program: Box<dyn Program>,
) -> Box<dyn Program> {
    let branch = binomial(rank, shape.root, shape.ranks);
    let children = branch.children.iter().map(|child| child.root);
    let is_root = branch.parent.is_none();
    Box::new(SizesFirst {
        program,
        from: children.filter(|_| !is_root).collect(),
        to: branch.parent.filter(|parent| *parent != shape.root),
    })
}

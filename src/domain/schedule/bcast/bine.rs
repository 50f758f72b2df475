//! The Bine tree: in every round twice as many ranks have the vector, at shorter distances than binomially.

use super::descending::Descending;
use crate::registry::{Algorithm, PLAIN};
use crate::shape::log2_ceil;
use crate::tree::fold::{Fold, Role};
use crate::tree::pairing::BineBranch;
use crate::{Collective, Cost, Rank, Shape};

/// Cost `L (alpha + beta m)` with `L = ceil(log2 p)`.
///
/// The distances between partners are about two thirds of those in the binomial tree, the farthest ones first, so fewer
/// messages leave a node or a group of nodes. If p is no power of two the tree has the next lower power of two of
/// positions, some of which send the vector to a neighbour in the end; this adds no step.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Bcast,
    id: "bine",
    summary: "Bine tree, whole vector, farthest partner first; its distances are two thirds of the binomial tree's",
    source: "De Sensi et al. 2025, arXiv 2508.17311",
    formula: "L (alpha + beta m)",
    cost: |ranks| Some(Cost::whole(log2_ceil(ranks).into(), 0)),
    program: |shape, rank| Box::new(place(shape, rank)),
    ..PLAIN
};

/// The place of a rank in the tree.
pub(crate) fn place(shape: &Shape, rank: Rank) -> Descending {
    let fold = Fold::new(shape.ranks, shape.root);
    let (position, stands_for) = match fold.role_of_rank(rank) {
        Role::Away { neighbour } => {
            return Descending {
                parent: Some(neighbour),
                children: Vec::new(),
            };
        }
        Role::GoesOn {
            position,
            stands_for,
        } => (position, stands_for),
    };
    // Around an odd root the tree is its own mirror image: partners of even and of odd positions change places.
    let root = fold.position_of_rank(shape.root);
    let last = fold.positions() - 1;
    let turned = |node: u32| {
        if root.is_multiple_of(2) {
            node.wrapping_add(root) & last
        } else {
            root.wrapping_sub(node) & last
        }
    };
    let node = if root.is_multiple_of(2) {
        position.wrapping_sub(root) & last
    } else {
        root.wrapping_sub(position) & last
    };
    let branch = BineBranch::new(node, fold.steps());
    let rank_of_node = |other_node: u32| fold.rank_at_position(turned(other_node));
    let children = branch.children.into_iter().map(rank_of_node);
    Descending {
        parent: branch.parent.map(rank_of_node),
        children: children.chain(stands_for).collect(),
    }
}

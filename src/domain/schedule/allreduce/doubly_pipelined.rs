//! Partial blocks move up a post-order tree and result blocks down it in the same exchanges.
//!
//! In turn `j` a rank, for each child in turn, receives partial block `j` and in the same exchange
//! sends result block `j - (d + 1)`, with `d` its depth; combines; then exchanges with its parent:
//! sends partial block `j`, receives result block `j - d`. A subtree combines `second child o first
//! child o own`, so everything is in rank order (Träff 2021, section 1.1).

use std::ops::Range;

use crate::program::Program;
use crate::tree::post_order;
use crate::tree::relay::{Arrivals, Node};
use crate::{Buffer, Partition, Rank, Room, Round, Shape, Span};

const ARRIVALS: Arrivals = Arrivals { first: 0 };

/// A tree over consecutive ranks, whose root exchanges partial blocks with `other_root`, the root of another
/// tree, if there is one.
pub(super) struct Tree {
    pub(super) ranks: Range<Rank>,
    pub(super) other_root: Option<Rank>,
}

/// The scratch buffers of a rank: blocks that arrive from children or the other root.
pub(super) fn scratch(shape: &Shape, rank: Rank, tree: Tree) -> Vec<Room> {
    let (node, _) = post_order::node_in_tree(rank, tree.ranks);
    let has_other_root = node.parent.is_none() && tree.other_root.is_some();
    let receives = (node.child_count() + u64::from(has_other_root)) * u64::from(shape.blocks);
    Arrivals::rooms(shape.blocks, receives).collect()
}

/// The program of a rank of a tree.
pub(super) fn program(shape: &Shape, rank: Rank, tree: Tree) -> Box<dyn Program> {
    let Tree { ranks, other_root } = tree;
    let other_root = other_root.map(|other_root| OtherRoot {
        rank: other_root,
        is_lower: other_root < rank,
    });
    let (node, depth) = post_order::node_in_tree(rank, ranks);
    Box::new(DoublyPipelined {
        node,
        depth,
        other_root,
        blocks: shape.blocks,
    })
}

#[derive(Clone, Copy)]
struct OtherRoot {
    rank: Rank,
    is_lower: bool,
}

struct DoublyPipelined {
    node: Node,
    /// Edges to the root.
    depth: u32,
    /// The root of another tree, with which this tree's root exchanges partial blocks.
    other_root: Option<OtherRoot>,
    blocks: u32,
}

impl DoublyPipelined {
    /// Rounds in a turn: an exchange and a combination with each child; an exchange with the
    /// parent, or an exchange and a combination with another root.
    fn turn(&self) -> u64 {
        let above = match (self.node.parent, self.other_root) {
            (Some(_), _) => 1,
            (None, Some(_)) => 2,
            (None, None) => 0,
        };
        2 * self.node.child_count() + above
    }

    /// The block that is `delay` turns behind turn `j`, if there is such a block.
    fn block(&self, buffer: Buffer, j: u64, delay: u32) -> Option<Span> {
        let block = j
            .checked_sub(delay.into())
            .filter(|block| *block < self.blocks.into())?;
        Some(Span::block(buffer, Partition::Even(self.blocks), block))
    }

    /// Block `j` of the own contribution, combined with what `children` children sent.
    fn partial(&self, j: u64, children: u64) -> Option<Span> {
        self.block(
            if children == 0 {
                Buffer::Input
            } else {
                Buffer::Output
            },
            j,
            0,
        )
    }

    fn exchange(round: &mut Round, peer: Rank, send: Option<Span>, recv: Option<Span>) {
        if let Some(span) = send {
            round.send(peer, span);
        }
        if let Some(span) = recv {
            round.recv(peer, span);
        }
    }
}

impl Program for DoublyPipelined {
    fn rounds(&self) -> u64 {
        // Turn j passes result block j - (depth + 1) to the children; the last turn of a rank
        // without children is the one in which its parent passes the last block.
        let turns = u64::from(self.blocks) + u64::from(self.depth);
        self.turn() * (turns + u64::from(self.node.child_count() > 0))
    }

    fn round(&self, index: u64, round: &mut Round) {
        let (j, place) = (index / self.turn(), index % self.turn());
        let (children, depth) = (self.node.child_count(), self.depth);
        let result = self.block(Buffer::Output, j, 0);
        let served = (place / 2).min(children);
        let has_other_root = self.node.parent.is_none() && self.other_root.is_some();
        let earlier = j * (children + u64::from(has_other_root)) + served;
        let received = self.block(ARRIVALS.buffer(earlier), j, 0);
        let own = self.partial(j, served);
        let child = self.node.children.get(served as usize).copied().flatten();
        match (child, self.node.parent, self.other_root) {
            (Some(child), _, _) if place % 2 == 0 => {
                let finished = self.block(Buffer::Output, j, depth + 1);
                Self::exchange(round, child, finished, received);
            }
            (None, Some(parent), _) => {
                let finished = self.block(Buffer::Output, j, depth);
                Self::exchange(round, parent, own, finished);
            }
            (None, None, Some(other_root)) if place % 2 == 0 => {
                Self::exchange(round, other_root.rank, own, received);
            }
            (child, _, other_root) => {
                if let (Some(received), Some(own), Some(result)) = (received, own, result) {
                    // Children have lower ranks than their parents.
                    let is_lower =
                        child.is_some() || other_root.is_some_and(|other_root| other_root.is_lower);
                    round.combine_by_rank(is_lower, received, own, result);
                }
            }
        }
    }
}

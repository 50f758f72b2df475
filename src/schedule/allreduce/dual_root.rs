//! The doubly pipelined, dual-root algorithm.

use crate::program::{Program, alone};
use crate::registry::{Algorithm, one_block};
use crate::tree::post_order::{Node, root_children, steps_down, steps_up};
use crate::{
    Buffer, Collective, Parameter, Partition, PipelineCost, Rank, Round, Scratch, Shape, Span,
};

/// Cost `4H - 2 + 3b` steps and `2H - 2 + 3b` combinations on `p = 2 (2^(H+1) - 1)` ranks.
///
/// Lower and upper half of the ranks stand in a post-order tree each. Partial blocks move up and
/// result blocks down in the same exchanges; the two roots exchange their partial blocks, which
/// makes them results. Ordered: a subtree combines `second child o first child o own`, the lower
/// root `own o received`, the upper `received o own`.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    id: "dual_root",
    summary: "doubly pipelined: blocks go up and down two trees at once, roots exchange them",
    source: "Träff 2021",
    parameters: &[Parameter::Blocks],
    ordered: true,
    cost,
    fixed_blocks: one_block,
    scratch,
    program,
};

fn cost(ranks: u32) -> Option<PipelineCost> {
    let (lower, upper) = (ranks / 2, ranks - ranks / 2);
    let up = i64::from(steps_up(upper));
    let down = i64::from(steps_down(lower).max(steps_down(upper)));
    // In every turn a rank exchanges with its children and its parent, a root with its twin.
    let turn = i64::from(root_children(upper)) + 1;
    Some(PipelineCost {
        c1: up + 1 + down - turn,
        c2: turn,
        g1: up + 1 - turn,
        g2: turn,
    })
}

const RECEIVED: Buffer = Buffer::Scratch(0);

fn scratch(shape: &Shape) -> Vec<Scratch> {
    vec![Scratch::Window {
        partition: Partition::Even(shape.blocks),
        slots: 1,
    }]
}

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let Shape {
        ranks,
        blocks,
        in_place,
        ..
    } = *shape;
    if ranks == 1 {
        return alone(in_place);
    }
    let middle = ranks / 2;
    let is_lower = rank < middle;
    let (half, twin) = if is_lower {
        (0..middle, ranks - 1)
    } else {
        (middle..ranks, middle - 1)
    };
    Box::new(DualRoot {
        node: Node::new(rank, half),
        twin,
        is_lower,
        blocks,
        source: shape.source(),
    })
}

struct DualRoot {
    node: Node,
    /// The root of the other half.
    twin: Rank,
    is_lower: bool,
    blocks: u32,
    source: Buffer,
}

impl DualRoot {
    /// Rounds in a turn: an exchange and a combination with each child; an exchange with the
    /// parent, or an exchange and a combination with the other root.
    fn turn(&self) -> u64 {
        2 * u64::from(self.node.child_count()) + if self.node.parent.is_some() { 1 } else { 2 }
    }

    /// The block that is `delay` turns behind turn `j`, if there is such a block.
    fn block(&self, buffer: Buffer, j: u64, delay: u32) -> Option<Span> {
        let block = j
            .checked_sub(delay.into())
            .filter(|block| *block < self.blocks.into())?;
        Some(Span::block(
            buffer,
            Partition::Even(self.blocks),
            block as u32,
        ))
    }

    /// Block `j` of the own contribution, combined with what `children` children sent.
    fn partial(&self, j: u64, children: u64) -> Option<Span> {
        self.block(
            if children == 0 {
                self.source
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

impl Program for DualRoot {
    fn rounds(&self) -> u64 {
        // Turn j passes result block j - (depth + 1) to the children; the last turn of a rank
        // without children is the one in which its parent passes the last block.
        let turns = u64::from(self.blocks) + u64::from(self.node.depth);
        self.turn() * (turns + u64::from(self.node.child_count() > 0))
    }

    fn round(&self, index: u64, round: &mut Round) {
        let (j, place) = (index / self.turn(), index % self.turn());
        let children = u64::from(self.node.child_count());
        let depth = self.node.depth;
        let received = self.block(RECEIVED, j, 0);
        let result = self.block(Buffer::Output, j, 0);
        let served = (place / 2).min(children);
        let own = self.partial(j, served);
        match (
            self.node.children.get(served as usize).copied().flatten(),
            self.node.parent,
        ) {
            (Some(child), _) if place % 2 == 0 => {
                let finished = self.block(Buffer::Output, j, depth + 1);
                Self::exchange(round, child, finished, received);
            }
            (None, Some(parent)) => {
                let finished = self.block(Buffer::Output, j, depth);
                Self::exchange(round, parent, own, finished);
            }
            (None, None) if place % 2 == 0 => Self::exchange(round, self.twin, own, received),
            (child, _) => {
                if let (Some(received), Some(own), Some(result)) = (received, own, result) {
                    if child.is_none() && self.is_lower {
                        round.combine(own, received, result);
                    } else {
                        round.combine(received, own, result);
                    }
                }
            }
        }
    }
}

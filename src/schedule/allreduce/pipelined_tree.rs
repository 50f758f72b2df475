//! A pipelined reduction to the root of one binary tree, then a pipelined broadcast down it.

use crate::program::{Program, alone};
use crate::registry::{Algorithm, one_block};
use crate::tree::post_order::{Node, root_children, steps_down, steps_up};
use crate::{
    Buffer, Collective, Parameter, Partition, PipelineCost, Rank, Round, Scratch, Shape, Span,
};

/// Cost `4H - 4 + 4b` steps and `2H - 2 + 2b` combinations on a perfect tree of height H: the
/// "User-Allreduce1" of Träff 2021. The broadcast of the first block starts when the root has
/// reduced the last one.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    id: "pipelined_tree",
    summary: "pipelined reduce, then pipelined broadcast, over one post-order binary tree",
    source: "Träff 2021",
    parameters: &[Parameter::Blocks],
    ordered: true,
    cost,
    fixed_blocks: one_block,
    scratch,
    program,
};

fn cost(ranks: u32) -> Option<PipelineCost> {
    let children = i64::from(root_children(ranks));
    let (up, down) = (i64::from(steps_up(ranks)), i64::from(steps_down(ranks)));
    let (c2, g2) = (2 * children, children);
    Some(PipelineCost {
        c1: up + down - c2,
        c2,
        g1: up - g2,
        g2,
    })
}

const RECEIVED: Buffer = Buffer::Scratch(0);

fn scratch(shape: &Shape) -> Vec<Scratch> {
    vec![
        Scratch::Window {
            partition: Partition::Even(shape.blocks),
            slots: 1,
        },
        // Partial results of inner ranks are combined where the result will stand.
    ]
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
    Box::new(PipelinedTree {
        node: Node::new(rank, 0..ranks),
        blocks,
        source: shape.source(),
    })
}

struct PipelinedTree {
    node: Node,
    blocks: u32,
    source: Buffer,
}

impl PipelinedTree {
    fn block(&self, buffer: Buffer, block: u64) -> Span {
        Span::block(buffer, Partition::Even(self.blocks), block as u32)
    }

    fn in_range(&self, block: u64) -> bool {
        block < u64::from(self.blocks)
    }

    /// Rounds that one block takes on the way up: an exchange and a combination a child.
    fn up(&self) -> u64 {
        2 * u64::from(self.node.child_count())
    }

    /// Rounds on the way up; the last block goes to the parent one turn after it is complete.
    fn rounds_up(&self) -> u64 {
        match (self.up(), self.node.parent) {
            (0, _) => u64::from(self.blocks),
            (up, None) => up * u64::from(self.blocks),
            (up, Some(_)) => up * u64::from(self.blocks) + 1,
        }
    }

    /// Turn `j`: `{Recv first child j, Send parent j-1} {Combine} {Recv second child j} {Combine}`.
    fn round_up(&self, index: u64, round: &mut Round) {
        if self.up() == 0 {
            if let Some(parent) = self.node.parent {
                round.send(parent, self.block(self.source, index));
            }
            return;
        }
        let (j, place) = (index / self.up(), index % self.up());
        let received = self.block(RECEIVED, j);
        let partial = self.block(Buffer::Output, j);
        let child = self.node.children[(place / 2) as usize].filter(|_| self.in_range(j));
        if place % 2 == 1 {
            let own = if place == 1 {
                self.block(self.source, j)
            } else {
                partial
            };
            return round.combine(received, own, partial);
        }
        if let Some(child) = child {
            round.recv(child, received);
        }
        if let (0, Some(parent), Some(complete)) = (place, self.node.parent, j.checked_sub(1)) {
            round.send(parent, self.block(Buffer::Output, complete));
        }
    }

    /// Turns on the way down: one more than blocks for a rank that receives before it sends.
    fn rounds_down(&self) -> u64 {
        let children = u64::from(self.node.child_count());
        let receiving = u64::from(self.node.parent.is_some());
        u64::from(self.blocks) * children.max(receiving) + receiving * u64::from(children > 0)
    }

    /// First `{Recv parent 0}`, then for each block `{Send first child j} {Send second child j,
    /// Recv parent j+1}`.
    fn round_down(&self, index: u64, round: &mut Round) {
        let children = u64::from(self.node.child_count());
        let send = match (children, self.node.parent) {
            (0, _) => None,
            (_, Some(_)) => index.checked_sub(1),
            (_, None) => Some(index),
        };
        if let Some(send) = send {
            let (j, place) = (send / children, send % children);
            if let Some(child) = self.node.children[place as usize] {
                round.send(child, self.block(Buffer::Output, j));
            }
        }
        let turn = children.max(1);
        if let Some(parent) = self.node.parent.filter(|_| index.is_multiple_of(turn)) {
            let arriving = index / turn;
            if self.in_range(arriving) {
                round.recv(parent, self.block(Buffer::Output, arriving));
            }
        }
    }
}

impl Program for PipelinedTree {
    fn rounds(&self) -> u64 {
        self.rounds_up() + self.rounds_down()
    }

    fn round(&self, index: u64, round: &mut Round) {
        match index.checked_sub(self.rounds_up()) {
            None => self.round_up(index, round),
            Some(index) => self.round_down(index, round),
        }
    }
}

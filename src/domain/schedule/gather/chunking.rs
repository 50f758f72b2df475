//! Gathering along a tree in chunks: a chunk of every contribution of a subtree in one message.
//!
//! The chunks of the contributions have equal distances in memory, so that they form one message: as many messages on
//! each edge as there are chunks.

use crate::program::Program;
use crate::tree::branch::{Branch, Subtree, Tree};
use crate::{Buffer, Partition, Rank, Round, Shape, Span};

/// The program of a rank that sends a chunk while the next one arrives from all children.
pub(crate) fn overlapping(tree: impl Tree, shape: &Shape, rank: Rank) -> Box<dyn Program> {
    Box::new(Overlapping(Chunks::new(tree, shape, rank)))
}

/// The program of a rank that has sent a chunk before it receives the next one: the gather of a chunk, over and over.
pub(crate) fn in_turn(tree: impl Tree, shape: &Shape, rank: Rank) -> Box<dyn Program> {
    Box::new(InTurn(Chunks::new(tree, shape, rank)))
}

struct Chunks {
    rank: Rank,
    branch: Branch,
    shape: Shape,
}

impl Chunks {
    fn new(tree: impl Tree, shape: &Shape, rank: Rank) -> Self {
        Self {
            rank,
            branch: tree(rank, shape.root, shape.ranks),
            shape: shape.clone(),
        }
    }

    /// The buffer of contributions other than the rank's own.
    fn collected(&self) -> Buffer {
        match self.branch.parent {
            None => Buffer::Output,
            Some(_) => Buffer::Scratch(0),
        }
    }

    /// A chunk of the contributions of a subtree.
    fn chunk(&self, buffer: Buffer, of: &Subtree, chunk: u64) -> Span {
        let Shape { ranks, blocks, .. } = self.shape;
        let partition = Partition::ByChunk {
            ranks,
            chunks: blocks,
        };
        let first = chunk * u64::from(ranks) + u64::from(of.first);
        Span::blocks(buffer, partition, first, of.count.into())
    }

    fn passes_on(&self) -> bool {
        self.branch.parent.is_some() && !self.branch.children.is_empty()
    }

    /// Adds the copy of the rank's own contribution to those that it collects.
    fn keep_own(&self, round: &mut Round) {
        let parts = Partition::parts(self.shape.ranks);
        let own = Span::block(Buffer::Input, parts, self.rank.into());
        round.copy(own, own.in_buffer(self.collected()));
    }

    /// Adds the messages in which the children's chunks arrive.
    fn receive(&self, chunk: u64, round: &mut Round) {
        for child in &self.branch.children {
            round.recv(child.root, self.chunk(self.collected(), child, chunk));
        }
    }

    /// Adds the message to the parent, if there is one.
    fn send(&self, chunk: u64, round: &mut Round) {
        let buffer = if self.branch.children.is_empty() {
            Buffer::Input
        } else {
            self.collected()
        };
        if let Some(parent) = self.branch.parent {
            round.send(parent, self.chunk(buffer, &self.branch.own, chunk));
        }
    }
}

struct Overlapping(Chunks);

impl Program for Overlapping {
    fn rounds(&self) -> u64 {
        u64::from(self.0.shape.blocks) + u64::from(self.0.passes_on())
    }

    fn round(&self, index: u64, round: &mut Round) {
        let Self(chunks) = self;
        if chunks.branch.children.is_empty() {
            return chunks.send(index, round);
        }
        if index == 0 {
            chunks.keep_own(round);
        }
        if let Some(arrived) = index.checked_sub(1) {
            chunks.send(arrived, round);
        }
        if index < chunks.shape.blocks.into() {
            chunks.receive(index, round);
        }
    }
}

struct InTurn(Chunks);

impl Program for InTurn {
    fn rounds(&self) -> u64 {
        u64::from(self.0.shape.blocks) * (1 + u64::from(self.0.passes_on()))
    }

    fn round(&self, index: u64, round: &mut Round) {
        let Self(chunks) = self;
        if chunks.branch.children.is_empty() {
            return chunks.send(index, round);
        }
        if index == 0 {
            chunks.keep_own(round);
        }
        match chunks.passes_on() {
            false => chunks.receive(index, round),
            true if index.is_multiple_of(2) => chunks.receive(index / 2, round),
            true => chunks.send(index / 2, round),
        }
    }
}

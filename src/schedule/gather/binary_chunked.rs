//! The complete binary tree, a chunk of every contribution of a subtree in one message.

use super::collecting;
use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::branch::{Branch, Subtree, binary};
use crate::{Buffer, Collective, Parameter, Partition, Rank, Round, Shape, Span};

/// About `(2 floor(log2 p) + 2 (b-1)) alpha + (p-1) beta m`.
///
/// An inner rank sends a chunk of all contributions of its subtree while the next chunk arrives from both children.
/// The chunks of the contributions have equal distances in memory, so that they form one message: `b` messages on
/// each edge, whereas `binary_streamed` has `b` for each contribution.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Gather,
    id: "binary_chunked",
    summary: "complete binary tree in pre-order, a chunk of a subtree's contributions in a message",
    source: "Donninelli",
    formula: "about (2 floor(log2 p) + 2 (b-1)) alpha + (p-1) beta m",
    parameters: &[Parameter::Blocks],
    pieces: |ranks| ranks,
    scratch: |shape, rank| collecting::scratch(binary, shape, rank),
    program: |shape, rank| {
        Box::new(Chunked {
            rank,
            branch: binary(rank, shape.root, shape.ranks),
            shape: shape.clone(),
        })
    },
    ..PLAIN
};

struct Chunked {
    rank: Rank,
    branch: Branch,
    shape: Shape,
}

impl Chunked {
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
}

impl Program for Chunked {
    fn rounds(&self) -> u64 {
        let passes_on = self.branch.parent.is_some() && !self.branch.children.is_empty();
        u64::from(self.shape.blocks) + u64::from(passes_on)
    }

    fn round(&self, index: u64, round: &mut Round) {
        let Branch {
            parent,
            ref own,
            ref children,
        } = self.branch;
        if children.is_empty() {
            if let Some(parent) = parent {
                round.send(parent, self.chunk(Buffer::Input, own, index));
            }
            return;
        }
        if index == 0 {
            let own = Partition::parts(self.shape.ranks);
            let own = Span::block(Buffer::Input, own, self.rank.into());
            round.copy(own, own.of(self.collected()));
        }
        if let (Some(parent), Some(arrived)) = (parent, index.checked_sub(1)) {
            round.send(parent, self.chunk(self.collected(), own, arrived));
        }
        if index < self.shape.blocks.into() {
            for child in children {
                round.recv(child.root, self.chunk(self.collected(), child, index));
            }
        }
    }
}

//! Gathering along a tree as a stream: every rank passes on what arrives, piece by piece.
//!
//! A rank's subtree contributes a sequence of pieces in the order of the tree's numbers: its own,
//! then those of its first child's subtree, then its second child's. It sends them one after the
//! other and receives the next ones meanwhile.

use crate::program::Program;
use crate::tree::branch::{Branch, Tree};
use crate::{Buffer, Partition, Rank, Room, Round, Shape, Span};

fn partition(shape: &Shape) -> Partition {
    Partition::PerRank {
        ranks: shape.ranks,
        chunks: shape.blocks,
    }
}

/// The scratch buffer of an inner rank: received pieces that have not been sent.
pub(crate) fn scratch(tree: impl Tree, shape: &Shape, rank: Rank) -> Vec<Room> {
    let branch = tree(rank, shape.root, shape.ranks);
    if branch.parent.is_none() || branch.children.is_empty() {
        return vec![];
    }
    vec![Room::Window {
        partition: partition(shape),
        first: u64::from(shape.root) * u64::from(shape.blocks),
        slots: shape.blocks.saturating_add(1),
    }]
}

/// The program of a rank along a tree that is numbered in pre-order.
pub(crate) fn program(tree: impl Tree, shape: &Shape, rank: Rank) -> Box<dyn Program> {
    Box::new(Streaming {
        branch: tree(rank, shape.root, shape.ranks),
        partition: partition(shape),
        chunks: shape.blocks.into(),
        ranks: shape.ranks,
    })
}

struct Streaming {
    branch: Branch,
    partition: Partition,
    /// Pieces of a contribution.
    chunks: u64,
    ranks: u32,
}

impl Streaming {
    /// Pieces of the whole subtree.
    fn pieces(&self) -> u64 {
        u64::from(self.branch.own.count) * self.chunks
    }

    /// The piece at a position of the sequence.
    fn span(&self, buffer: Buffer, position: u64) -> Span {
        let rank = u64::from(self.branch.own.first) + position / self.chunks;
        let block = rank % u64::from(self.ranks) * self.chunks + position % self.chunks;
        Span::block(buffer, self.partition, block)
    }

    /// The child from which the piece at a position comes; `None` if it is the rank's own.
    fn source(&self, position: u64) -> Option<Rank> {
        let below = (position / self.chunks).checked_sub(1)?;
        let mut children = self.branch.children.iter();
        let first = children.next()?;
        if below < first.count.into() {
            Some(first.root)
        } else {
            children.next().map(|second| second.root)
        }
    }
}

impl Program for Streaming {
    fn rounds(&self) -> u64 {
        match self.branch.parent {
            Some(_) => self.pieces(),
            None => self.pieces() - self.chunks,
        }
    }

    fn round(&self, index: u64, round: &mut Round) {
        let kept = match self.branch.parent {
            Some(_) => Buffer::Scratch(0),
            None => Buffer::Output,
        };
        match self.branch.parent {
            Some(parent) if index < self.chunks => {
                round.send(parent, self.span(Buffer::Input, index));
            }
            Some(parent) => round.send(parent, self.span(kept, index)),
            None if index == 0 => {
                let own = Partition::parts(self.ranks);
                let own = Span::block(Buffer::Input, own, self.branch.own.first.into());
                round.copy(own, own.in_buffer(kept));
            }
            None => {}
        }
        let arriving = index + self.chunks;
        if let Some(source) = self.source(arriving).filter(|_| arriving < self.pieces()) {
            round.recv(source, self.span(kept, arriving));
        }
    }
}

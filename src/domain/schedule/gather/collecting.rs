//! Gathering along a tree with one message per edge: every rank sends the contributions of its subtree.

use crate::program::Program;
use crate::tree::branch::{Branch, Subtree, Tree};
use crate::{Buffer, Partition, Rank, Room, Round, Shape, Span};

/// The scratch buffer of an inner rank: its subtree's contributions.
pub(crate) fn scratch(tree: impl Tree, shape: &Shape, rank: Rank) -> Vec<Room> {
    let Branch {
        parent,
        own,
        children,
    } = tree(rank, shape.root, shape.ranks);
    match (parent, children.is_empty()) {
        (Some(_), false) => vec![Room::parts(shape.ranks, own.first, own.count)],
        _ => vec![],
    }
}

/// The program of a rank that receives from its children one after the other, the smallest subtree
/// first.
pub(crate) fn program(tree: impl Tree, shape: &Shape, rank: Rank) -> Box<dyn Program> {
    Box::new(Collecting::new(tree, shape, rank))
}

/// The program of a rank that receives from all its children at once.
pub(crate) fn program_at_once(tree: impl Tree, shape: &Shape, rank: Rank) -> Box<dyn Program> {
    Box::new(Collecting {
        at_once: true,
        ..Collecting::new(tree, shape, rank)
    })
}

struct Collecting {
    rank: Rank,
    ranks: u32,
    branch: Branch,
    at_once: bool,
}

impl Collecting {
    fn new(tree: impl Tree, shape: &Shape, rank: Rank) -> Self {
        Self {
            rank,
            ranks: shape.ranks,
            branch: tree(rank, shape.root, shape.ranks),
            at_once: false,
        }
    }

    fn span(&self, buffer: Buffer, part: Subtree) -> Span {
        let (first, count) = (part.first.into(), part.count.into());
        Span::blocks(buffer, Partition::parts(self.ranks), first, count)
    }

    /// Rounds in which contributions arrive.
    fn receiving(&self) -> u64 {
        let children = self.branch.children.len() as u64;
        if self.at_once {
            children.min(1)
        } else {
            children
        }
    }
}

impl Program for Collecting {
    fn rounds(&self) -> u64 {
        self.receiving() + u64::from(self.branch.parent.is_some())
    }

    fn round(&self, index: u64, round: &mut Round) {
        let Branch {
            parent,
            own,
            ref children,
        } = self.branch;
        let alone = Subtree {
            root: self.rank,
            first: self.rank,
            count: 1,
        };
        let contribution = self.span(Buffer::Input, alone);
        let collected = match parent {
            None => Buffer::Output,
            Some(_) => Buffer::Scratch(0),
        };
        if let (Some(parent), true) = (parent, index == self.receiving()) {
            return round.send(
                parent,
                match children[..] {
                    [] => contribution,
                    _ => self.span(collected, own),
                },
            );
        }
        if index == 0 {
            round.copy(contribution, contribution.in_buffer(collected));
        }
        let last = children.len() - index as usize;
        let arriving = if self.at_once {
            &children[..]
        } else {
            &children[last.saturating_sub(1)..last]
        };
        for child in arriving {
            round.recv(child.root, self.span(collected, *child));
        }
    }
}

//! The whole vector down a tree, one child after the other.

use crate::program::Program;
use crate::tree::branch::{Branch, Tree};
use crate::{Buffer, Rank, Round, Shape, Span};

/// The program of a rank.
pub(crate) fn program(tree: Tree, shape: &Shape, rank: Rank) -> Box<dyn Program> {
    along(tree(rank, shape.root, shape.ranks))
}

/// The program of the rank that stands at this place of a tree.
pub(crate) fn along(branch: Branch) -> Box<dyn Program> {
    Box::new(Descending(branch))
}

struct Descending(Branch);

impl Program for Descending {
    fn rounds(&self) -> u64 {
        let Self(branch) = self;
        branch.children.len() as u64 + u64::from(branch.parent.is_some())
    }

    fn round(&self, index: u64, round: &mut Round) {
        let Self(branch) = self;
        let vector = Span::whole(Buffer::Output);
        match branch.parent {
            Some(parent) if index == 0 => round.recv(parent, vector),
            parent => {
                let child = index as usize - usize::from(parent.is_some());
                round.send(branch.children[child].root, vector);
            }
        }
    }
}

//! The whole vector down a tree, one child after the other.

use crate::program::Program;
use crate::tree::branch::{Branch, Tree};
use crate::{Buffer, Rank, Round, Shape, Span};

/// The program of a rank.
pub(crate) fn program(tree: impl Tree, shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let Branch {
        parent, children, ..
    } = tree(rank, shape.root, shape.ranks);
    Box::new(Descending {
        parent,
        children: children.iter().map(|child| child.root).collect(),
    })
}

/// A rank's place in a tree, the children in the order in which they are served.
pub(crate) struct Descending {
    pub(crate) parent: Option<Rank>,
    pub(crate) children: Vec<Rank>,
}

impl Program for Descending {
    fn rounds(&self) -> u64 {
        self.children.len() as u64 + u64::from(self.parent.is_some())
    }

    fn round(&self, index: u64, round: &mut Round) {
        let vector = Span::whole(Buffer::Output);
        match self.parent {
            Some(parent) if index == 0 => round.recv(parent, vector),
            parent => {
                let child = index as usize - usize::from(parent.is_some());
                round.send(self.children[child], vector);
            }
        }
    }
}

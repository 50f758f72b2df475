//! Barriers along a tree: signals from the leaves to the root, and back.

use crate::Rank;
use crate::program::Program;
use crate::round::Round;

/// A rank's neighbours in a tree.
pub(super) struct Neighbours {
    /// The parent; the root has none.
    pub(super) parent: Option<Rank>,
    pub(super) children: Vec<Rank>,
}

/// The program of a rank: its children are awaited at once, then its parent is told, awaited, and passed on to the
/// children.
pub(super) struct UpAndDown(pub(super) Neighbours);

impl Program for UpAndDown {
    fn rounds(&self) -> u64 {
        3
    }

    fn round(&self, index: u64, round: &mut Round) {
        let Neighbours { parent, children } = &self.0;
        match index {
            0 => children.iter().for_each(|child| round.wait_for(*child)),
            1 => {
                if let Some(parent) = *parent {
                    round.signal(parent);
                    round.wait_for(parent);
                }
            }
            _ => children.iter().for_each(|child| round.signal(*child)),
        }
    }
}

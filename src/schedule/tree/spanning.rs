//! The minimum spanning tree of a range of ranks, for any root.
//!
//! A range is split in the middle. The root of the range sends to the far end of the half that it
//! does not stand in, which becomes that half's root; both halves go on alike (Chan, Heimlich,
//! Purkayastha, van de Geijn 2007, section 4).

/// One rank's neighbours: at most one a level, so 32 suffice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    parent: Option<u32>,
    children: [u32; 32],
    count: u32,
}

impl Node {
    /// The node of `rank` in the tree over `0..ranks` with root `root`; O(log p).
    pub(crate) fn new(rank: u32, root: u32, ranks: u32) -> Self {
        let (mut left, mut right, mut root) = (0, ranks - 1, root);
        let mut node = Self {
            parent: None,
            children: [0; 32],
            count: 0,
        };
        while left < right {
            let middle = left + (right - left) / 2;
            let other = if root <= middle { right } else { left };
            if rank == root {
                node.children[node.count as usize] = other;
                node.count += 1;
            } else if rank == other {
                node.parent = Some(root);
            }
            let in_lower = rank <= middle;
            if in_lower {
                right = middle;
            } else {
                left = middle + 1;
            }
            if in_lower != (root <= middle) {
                root = other;
            }
        }
        node
    }

    /// The parent, unless this is the root.
    pub(crate) fn parent(&self) -> Option<u32> {
        self.parent
    }

    /// The children, largest subtree first.
    pub(crate) fn children(&self) -> &[u32] {
        &self.children[..self.count as usize]
    }
}

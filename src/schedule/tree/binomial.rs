//! The binomial tree over 0..n with root 0.
//!
//! The parent of a node is the node without its lowest set bit; the subtree of a node `v` with `t`
//! trailing zeros covers `v..v + 2^t`, cut at n, so every subtree is a contiguous range.

/// One node's neighbours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    node: u32,
    children: u32,
}

impl Node {
    /// The node `node` of the tree over `0..size`.
    pub(crate) fn new(node: u32, size: u32) -> Self {
        let span = if node == 0 {
            u32::BITS
        } else {
            node.trailing_zeros()
        };
        let below_end = u32::BITS - (size - 1 - node).leading_zeros();
        Self {
            node,
            children: span.min(below_end),
        }
    }

    /// The parent, unless this is the root.
    pub(crate) fn parent(self) -> Option<u32> {
        (self.node > 0).then(|| self.node & (self.node - 1))
    }

    /// Number of children.
    pub(crate) fn children(self) -> u32 {
        self.children
    }

    /// The child with the `index`-th smallest subtree.
    pub(crate) fn child(self, index: u32) -> u32 {
        self.node + (1 << index)
    }
}

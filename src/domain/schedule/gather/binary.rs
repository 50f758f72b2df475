//! The complete binary tree, both children at once.

use super::collecting;
use crate::Collective;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::branch::binary;

/// `floor(log2 p)` levels. The tree is heap-shaped and numbered in pre-order from the root, so that
/// every subtree is a range of ranks and nothing is reordered at the root.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Gather,
    id: "binary",
    summary: "complete binary tree in pre-order, both children received at once",
    source: "Donninelli",
    formula: "about 2 floor(log2 p) alpha + (p-1) beta m",
    scratch: |shape, rank| collecting::scratch(binary, shape, rank),
    program: |shape, rank| collecting::program_at_once(binary, shape, rank),
    ..PLAIN
};

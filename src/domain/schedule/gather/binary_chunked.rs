//! The complete binary tree, a chunk of every contribution of a subtree in one message.

use super::{chunking, collecting};
use crate::registry::{Algorithm, PLAIN};
use crate::tree::branch::binary;
use crate::{Collective, Parameter};

/// About `(2 floor(log2 p) + 2 (b-1)) alpha + (p-1) beta m`.
///
/// An inner rank sends a chunk of all contributions of its subtree while the next chunk arrives from both children:
/// `b` messages on each edge, whereas `binary_streamed` has `b` for each contribution. Donninelli's chunks do not
/// overlap, see `binary_repeated`.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Gather,
    id: "binary_chunked",
    summary: "complete binary tree in pre-order, a chunk of a subtree's contributions in a message",
    source: "the tree: Donninelli",
    formula: "about (2 floor(log2 p) + 2 (b-1)) alpha + (p-1) beta m",
    parameters: &[Parameter::Blocks],
    pieces: |ranks| ranks,
    scratch: |shape, rank| collecting::scratch(binary, shape, rank),
    program: |shape, rank| chunking::overlapping(binary, shape, rank),
    ..PLAIN
};

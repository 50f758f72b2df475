//! The complete binary tree, contributions cut into chunks that are passed on as they come.

use super::streaming;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::branch::binary;
use crate::{Collective, Parameter};

/// The root receives `(p - 1) b` chunks one after the other; a rank in between passes a chunk on
/// while the next arrives, and keeps little more than a contribution in memory. Donninelli's gather
/// in chunks sends those of a whole subtree in one message.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Gather,
    id: "binary_streamed",
    formerly: Some("binary_chunked"),
    summary: "complete binary tree in pre-order, contributions streamed in chunks",
    source: "the tree: Donninelli",
    formula: "about (p-1) b (alpha + beta m/b)",
    parameters: &[Parameter::Blocks],
    pieces: |ranks| ranks,
    scratch: |shape, rank| streaming::scratch(binary, shape, rank),
    program: |shape, rank| streaming::program(binary, shape, rank),
    ..PLAIN
};

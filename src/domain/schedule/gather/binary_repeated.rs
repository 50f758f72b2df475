//! The complete binary tree, run once for each chunk of the contributions.

use super::{chunking, collecting};
use crate::registry::{Algorithm, PLAIN};
use crate::tree::branch::binary;
use crate::{Collective, Parameter};

/// About `(2 floor(log2 p) + 3 (b-1)) alpha + (p-1) beta m`.
///
/// The messages are those of `binary_chunked`. Here a rank has sent a chunk of its subtree's contributions before it
/// receives the next one, as if it called the gather of `binary` once for each chunk. Nothing separates the runs, so ranks
/// below it may collect their next chunk meanwhile.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Gather,
    id: "binary_repeated",
    summary: "complete binary tree in pre-order, run once for each chunk of the contributions",
    source: "Donninelli",
    formula: "about (2 floor(log2 p) + 3 (b-1)) alpha + (p-1) beta m",
    parameters: &[Parameter::Blocks],
    pieces: |ranks| ranks,
    scratch: |shape, rank| collecting::scratch(binary, shape, rank),
    program: |shape, rank| chunking::in_turn(binary, shape, rank),
    ..PLAIN
};

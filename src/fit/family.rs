//! Candidates that differ only by their blocks.

use vocabulary::{Candidate, Parameters};

/// The parameters without those of blocks.
pub(crate) fn without_blocks(parameters: &Parameters) -> Parameters {
    Parameters {
        block_bytes: None,
        blocks: None,
        ..parameters.clone()
    }
}

/// A candidate of ours without its blocks; any other as it is.
pub(crate) fn family(candidate: &Candidate) -> Candidate {
    match candidate {
        Candidate::Ours {
            algorithm,
            parameters,
        } => Candidate::Ours {
            algorithm: algorithm.clone(),
            parameters: without_blocks(parameters),
        },
        other => other.clone(),
    }
}

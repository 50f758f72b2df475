//! Candidates that differ only by their blocks.

use vocabulary::Candidate;

/// A candidate of ours without its blocks; any other as it is.
pub(crate) fn family(candidate: &Candidate) -> Candidate {
    match candidate {
        Candidate::Ours {
            algorithm,
            parameters,
        } => Candidate::Ours {
            algorithm: algorithm.clone(),
            parameters: parameters.without_blocks(),
        },
        other => other.clone(),
    }
}

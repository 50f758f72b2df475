//! Algorithms of libraries that are equivalent to ours: they send the same messages, so their times can be compared.
//!
//! Those of a broadcast by a scatter and an allgather also send the root what it has; ours do not.

use vocabulary::{Candidate, Cell, Library, Parameters};

/// Pairs of our own algorithms to compare, each at its best block size.
pub const RIVALS: [(&str, &str); 1] = [("allreduce/dual_root", "allreduce/pipelined_tree")];

/// The radix of k-nomial trees in libraries, unless it is configured for the whole job.
const KNOMIAL_RADIX: u32 = 4;

/// The library's own algorithm that is equivalent to a candidate of ours, if there is one.
pub fn library_equivalent(
    library: &Library,
    cell: &Cell,
    candidate: &Candidate,
) -> Option<Candidate> {
    let (algorithm, parameters) = candidate.as_ours()?;
    let (collective, ours) = algorithm.split_once('/')?;
    let mut algorithms = crate::find_library(&library.name)?
        .facts()
        .algorithms
        .iter();
    let native =
        algorithms.find(|a| a.collective.name() == collective && a.equivalent == Some(ours))?;
    // With fewer than 4 ranks, the radix is the number of ranks.
    let radix = KNOMIAL_RADIX.min(cell.shape.ranks());
    let is_other = !parameters.through.is_mpi()
        || parameters.radix.is_some_and(|given| given != radix)
        || parameters.blocks.is_some_and(|blocks| blocks != 1);
    (!is_other).then(|| Candidate::Native {
        algorithm: format!("{}{collective}/{}", Candidate::NATIVE, native.id),
        parameters: Parameters {
            segment_bytes: parameters.block_bytes,
            ..Parameters::default()
        },
    })
}

//! Algorithms of libraries that are equivalent to ours: they send the same messages, so their times can be compared.
//!
//! Those of a broadcast by a scatter and an allgather also send the root what it has; ours do not.

use schedule::Parameter;
use vocabulary::{Candidate, Cell, Library, Parameters};

/// Pairs of our own algorithms to compare, each at its best block size.
pub const RIVALS: [(&str, &str); 1] = [("allreduce/dual_root", "allreduce/pipelined_tree")];

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
    let takes_radix = schedule::find_algorithm(algorithm)?.takes(Parameter::Radix);
    let default = takes_radix.then_some(schedule::Parameters::DEFAULT_RADIX);
    let given = parameters.radix.or(default);
    // All radices from the number of ranks on are the same.
    let in_effect = |radix: u32| radix.min(cell.shape.ranks());
    let is_other = !parameters.through.is_mpi()
        || given.is_some_and(|given| in_effect(given) != in_effect(native.radix))
        || parameters.blocks.is_some_and(|blocks| blocks != 1);
    (!is_other).then(|| Candidate::Native {
        algorithm: format!("{}{collective}/{}", Candidate::NATIVE, native.id),
        parameters: Parameters {
            segment_bytes: parameters.block_bytes,
            ..Parameters::default()
        },
    })
}

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
    let row = schedule::find_algorithm(algorithm)?;
    let given_or =
        |given: Option<u32>, parameter, default| given.or(row.takes(parameter).then_some(default));
    let radix = given_or(
        parameters.radix,
        Parameter::Radix,
        schedule::Parameters::DEFAULT_RADIX,
    );
    let requests = given_or(
        parameters.max_requests,
        Parameter::MaxRequests,
        schedule::Parameters::DEFAULT_MAX_REQUESTS,
    );
    // All radices from the number of ranks on are the same, and all numbers of requests from that of the other ranks on.
    let ranks = cell.shape.ranks();
    let differs = |given: Option<u32>, of_library: u32, most: u32| {
        given.is_some_and(|given| given.min(most) != of_library.min(most))
    };
    // One that takes their number has all under way unless it is given one.
    let limited = requests.filter(|given| native.takes_requests && *given < ranks - 1);
    let is_other = !parameters.through.is_mpi()
        || differs(radix, native.radix, ranks)
        || limited.is_none() && differs(requests, native.max_requests, ranks - 1)
        || parameters.blocks.is_some_and(|blocks| blocks != 1);
    (!is_other).then(|| Candidate::Native {
        algorithm: format!("{}{collective}/{}", Candidate::NATIVE, native.id),
        parameters: Parameters {
            segment_bytes: parameters.block_bytes,
            max_requests: limited,
            ..Parameters::default()
        },
    })
}

//! The properties of MPICH's algorithms.

use schedule::Collective::*;
use vocabulary::Cell;

use crate::LibraryAlgorithm;
use crate::algorithm::{BINARY, ORDERED, SAME, power_below, row_like, row_of};

/// The messages that a scattered alltoall has under way at once, unless `MPIR_CVAR_ALLTOALL_THROTTLE` says otherwise; of
/// the first ones, one is for the rank itself.
const THROTTLE: u32 = 32;

/// Algorithms in the sources of 4.0. Others are wrong for operators that do not commute, or refuse operators that are
/// not built in, and have no equivalent among ours. The Rabenseifner reduction does not fold evenly. The `brucks` and
/// `recursive_doubling` that gather work in a copy of all contributions, and the binomial trees pack or describe what
/// wraps around, but send what ours send; `recursive_doubling` does so on a power of two of ranks, and runs on no other
/// number. Names that are newer than 4.0 are left out: their radices and segments are control variables of their own,
/// so the name does not say which messages they send.
pub(super) const ALGORITHMS: [LibraryAlgorithm; 27] = [
    row_like("bruck", Allgather, "brucks", 0),
    row_of(Allgather, "recursive_doubling", SAME),
    row_of(Allgather, "ring", SAME),
    row_like("bruck", Allgatherv, "brucks", 0),
    row_of(Allgatherv, "recursive_doubling", SAME),
    row_of(Allgatherv, "ring", SAME),
    row_of(Allreduce, "recursive_doubling", ORDERED | SAME),
    row_like("bruck", Alltoall, "brucks", BINARY),
    row_of(Alltoall, "pairwise", SAME),
    row_like("batched", Alltoall, "scattered", 0).with_max_requests(THROTTLE),
    row_like("batched", Alltoallv, "scattered", 0).with_max_requests(THROTTLE),
    row_like("batched", Alltoallw, "scattered", 0).with_max_requests(THROTTLE),
    row_of(Barrier, "dissemination", SAME | BINARY),
    row_of(Bcast, "binomial", SAME),
    row_like("scatter_allgather_ring", Bcast, "scatter_ring_allgather", 0),
    row_of(Exscan, "recursive_doubling", ORDERED | SAME),
    row_of(Gather, "binomial", SAME),
    row_like("linear_nonblocking", Gatherv, "linear", 0),
    row_of(Reduce, "binomial", ORDERED | SAME),
    row_like(
        "rabenseifner_unbalanced",
        Reduce,
        "reduce_scatter_gather",
        0,
    ),
    row_of(ReduceScatter, "noncommutative", ORDERED),
    row_of(ReduceScatter, "recursive_doubling", ORDERED),
    row_of(ReduceScatterBlock, "noncommutative", ORDERED),
    row_of(ReduceScatterBlock, "recursive_doubling", ORDERED),
    row_of(Scan, "recursive_doubling", ORDERED | SAME),
    row_of(Scatter, "binomial", SAME),
    row_like("linear_nonblocking", Scatterv, "linear", 0),
];

/// Algorithms with radices and segments of their own, which 4.1 and later guard. A selection file names these
/// parameters; those that it leaves out have no value (`csel_container.c`, to 5.0).
const WITH_PARAMETERS: [&str; 13] = [
    "ccl",
    "circ_graph",
    "k_brucks",
    "k_dissemination",
    "k_reduce_scatter_allgather",
    "pipelined_tree",
    "recexch",
    "recexch_distance_doubling",
    "recexch_distance_halving",
    "recexch_doubling",
    "recexch_halving",
    "recursive_multiplying",
    "tree",
];

/// Whether an algorithm takes parameters, which tables do not have.
pub fn takes_parameters(id: &str) -> bool {
    WITH_PARAMETERS.contains(&id)
}

/// Whether a forced algorithm is carried out (4.0): the library, configured not to replace forced algorithms, neither
/// returns an error nor aborts.
pub(super) fn is_carried_out(cell: &Cell, id: &str) -> bool {
    let ranks = u64::from(cell.shape.ranks());
    let elements = cell.bytes / cell.datatype.size_bytes();
    match (cell.collective, id) {
        // For calls in place only.
        (Alltoall | Alltoallv | Alltoallw, "pairwise_sendrecv_replace") => false,
        (Allgather | Allgatherv, "recursive_doubling") | (ReduceScatterBlock, "noncommutative") => {
            ranks.is_power_of_two()
        }
        // An assertion fails.
        (ReduceScatter, "noncommutative") => {
            ranks.is_power_of_two() && elements.is_multiple_of(ranks)
        }
        (Allreduce, "reduce_scatter_allgather") | (Reduce, "reduce_scatter_gather") => {
            elements >= power_below(ranks)
        }
        _ => true,
    }
}

//! The algorithms of `coll/tuned`, and the conditions under which it runs them.

use schedule::Collective::{self, *};
use vocabulary::{Cell, Parameters};

use crate::LibraryAlgorithm;
use crate::algorithm::{
    BINARY, FANOUT, ORDERED, REPLACED, REQUESTS, SAME, SEGMENTS, power_below, row_like, row_of,
};

/// The collectives by their numbers in rules files.
pub const COLLECTIVES: [(Collective, u32); 14] = [
    (Allgather, 0),
    (Allgatherv, 1),
    (Allreduce, 2),
    (Alltoall, 3),
    (Alltoallv, 4),
    (Barrier, 6),
    (Bcast, 7),
    (Exscan, 8),
    (Gather, 9),
    (Reduce, 11),
    (ReduceScatter, 12),
    (ReduceScatterBlock, 13),
    (Scan, 14),
    (Scatter, 15),
];

/// All of 4.1 and 5.0. Those of a collective are numbered from 1 in this order; numbers never change, and new
/// algorithms are appended. The sources are the documentation of the control variables (`ompi_info --param coll tuned
/// -l 9`) and, where that is silent, the code of 4.1.
///
/// Names do not identify equivalents: the `basic_linear` broadcast posts all sends at once, `pipeline` is a chain, the
/// Rabenseifner reduction folds evenly.
///
/// Some have no equivalent among ours. On two ranks, the only number that it serves, `two_proc` sends the same two messages
/// as other algorithms of its collective, which are the equivalents already. The `default` of allgatherv is a gatherv and a
/// broadcast, the `linear` of allgather a gather and a broadcast, by whatever algorithms these calls get. None of ours
/// halves distances on any number of ranks as `sparbit` does. The gather `linear_sync` sends each contribution in two
/// messages, a segment and the rest, of which the second may be empty; ours sends one.
pub(super) const ALGORITHMS: [LibraryAlgorithm; 66] = [
    row_of(Allgather, "linear", 0),
    row_of(Allgather, "bruck", SAME),
    row_of(Allgather, "recursive_doubling", SAME),
    row_of(Allgather, "ring", SAME),
    row_like("neighbor_exchange", Allgather, "neighbor", 0),
    row_of(Allgather, "two_proc", 0),
    row_of(Allgather, "sparbit", 0),
    row_of(Allgatherv, "default", 0),
    row_of(Allgatherv, "bruck", SAME),
    row_of(Allgatherv, "ring", SAME),
    row_like("neighbor_exchange", Allgatherv, "neighbor", 0),
    row_of(Allgatherv, "two_proc", 0),
    row_of(Allgatherv, "sparbit", 0),
    row_of(Allreduce, "basic_linear", ORDERED),
    row_of(Allreduce, "nonoverlapping", ORDERED),
    row_of(Allreduce, "recursive_doubling", ORDERED | SAME),
    row_of(Allreduce, "ring", SAME),
    row_of(Allreduce, "segmented_ring", SEGMENTS),
    row_of(Allreduce, "rabenseifner", REPLACED | SAME),
    row_of(Alltoall, "linear", SAME),
    row_of(Alltoall, "pairwise", SAME),
    row_like("bruck", Alltoall, "modified_bruck", BINARY),
    row_like("batched", Alltoall, "linear_sync", REQUESTS),
    row_of(Alltoall, "two_proc", 0),
    row_like("linear", Alltoallv, "basic_linear", 0),
    row_of(Alltoallv, "pairwise", SAME),
    row_of(Barrier, "linear", SAME),
    row_of(Barrier, "double_ring", SAME),
    row_of(Barrier, "recursive_doubling", SAME),
    row_like("dissemination", Barrier, "bruck", BINARY),
    row_of(Barrier, "two_proc", 0),
    row_like("binomial", Barrier, "tree", 0),
    row_like("linear_nonblocking", Bcast, "basic_linear", 0),
    row_of(Bcast, "chain", SEGMENTS | FANOUT),
    row_like("chain", Bcast, "pipeline", SEGMENTS),
    row_like("split_binary", Bcast, "split_binary_tree", SEGMENTS),
    row_like("binary_pipelined", Bcast, "binary_tree", SEGMENTS),
    row_of(Bcast, "binomial", SEGMENTS | SAME),
    row_of(Bcast, "knomial", SEGMENTS | SAME),
    row_of(Bcast, "scatter_allgather", SAME),
    row_of(Bcast, "scatter_allgather_ring", SAME),
    row_of(Exscan, "linear", ORDERED | SAME),
    row_of(Exscan, "recursive_doubling", ORDERED | SAME),
    row_like("linear", Gather, "basic_linear", 0),
    row_of(Gather, "binomial", SAME),
    row_of(Gather, "linear_sync", SEGMENTS),
    row_of(Reduce, "linear", ORDERED | SAME),
    row_of(Reduce, "chain", SEGMENTS | FANOUT | REQUESTS),
    row_like("chain", Reduce, "pipeline", SEGMENTS | REQUESTS),
    row_like("binary_pipelined", Reduce, "binary", SEGMENTS | REQUESTS),
    row_of(Reduce, "binomial", SEGMENTS | SAME | REQUESTS),
    row_of(Reduce, "in-order_binary", ORDERED | SEGMENTS | REQUESTS),
    row_of(Reduce, "rabenseifner", REPLACED | SAME),
    row_of(ReduceScatter, "non-overlapping", ORDERED),
    row_of(ReduceScatter, "recursive_halving", SAME),
    row_of(ReduceScatter, "ring", SAME),
    row_of(ReduceScatter, "butterfly", ORDERED | SAME),
    row_of(ReduceScatterBlock, "basic_linear", ORDERED),
    row_of(ReduceScatterBlock, "recursive_doubling", ORDERED | SAME),
    row_of(ReduceScatterBlock, "recursive_halving", REPLACED | SAME),
    row_of(ReduceScatterBlock, "butterfly", ORDERED | SAME),
    row_of(Scan, "linear", ORDERED | SAME),
    row_of(Scan, "recursive_doubling", ORDERED | SAME),
    row_like("linear", Scatter, "basic_linear", 0),
    row_of(Scatter, "binomial", SAME),
    row_like("linear_nonblocking", Scatter, "linear_nb", 0),
];

/// Algorithms that are not in 4.1.
pub const SINCE_5: [&str; 1] = ["sparbit"];

/// Whether the algorithm serves exactly this number of ranks.
pub fn serves_ranks(collective: Collective, id: &str, ranks: u32) -> bool {
    match (collective, id) {
        (_, "two_proc") => ranks == 2,
        (Allgather, "recursive_doubling") => ranks.is_power_of_two(),
        (Allgather | Allgatherv, "neighbor") => ranks.is_multiple_of(2),
        _ => true,
    }
}

/// Whether a forced algorithm is carried out (4.1), and neither fails nor is replaced by another one.
pub(super) fn is_carried_out(cell: &Cell, id: &str, parameters: &Parameters) -> bool {
    let ranks = u64::from(cell.shape.ranks());
    let elements = cell.bytes / cell.datatype.size_bytes();
    let segment = parameters.segment_bytes.unwrap_or(0) / cell.datatype.size_bytes();
    let has_enough = match (cell.collective, id) {
        // Each half has its own segments.
        (Bcast, "split_binary_tree") => elements >= 2 && segment <= elements / 2,
        (Bcast, "scatter_allgather" | "scatter_allgather_ring") | (Allreduce, "ring") => {
            elements >= ranks
        }
        (Allreduce, "segmented_ring") => segment > 0 && elements >= ranks * segment,
        (Allreduce | Reduce, "rabenseifner") => elements >= power_below(ranks),
        _ => true,
    };
    has_enough && serves_ranks(cell.collective, id, cell.shape.ranks())
}

/// The largest predefined element: a complex number of two long doubles.
const LARGEST_ELEMENT: u64 = 32;

/// The calls for which an algorithm runs without being replaced by another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Whether it runs only on numbers of ranks like the measured one, not on all larger ones.
    pub only_these_ranks: bool,
    /// The least size in bytes, for every datatype.
    pub from_bytes: u64,
}

/// The limits of an algorithm with segments of `segment` bytes, 0 for none, on up to `ranks` ranks; `None`
/// if it never runs there.
pub fn algorithm_limits(
    collective: Collective,
    id: &str,
    segment: u64,
    ranks: u32,
) -> Option<Limits> {
    let ranks = u64::from(ranks);
    let from_bytes = match (collective, id) {
        (Allreduce, "ring") | (Bcast, "scatter_allgather" | "scatter_allgather_ring") => {
            ranks.saturating_mul(LARGEST_ELEMENT)
        }
        (Allreduce, "segmented_ring") if segment == 0 => return None,
        (Allreduce, "segmented_ring") => ranks.saturating_mul(segment.max(LARGEST_ELEMENT)),
        (Allreduce | Reduce, "rabenseifner") => power_below(ranks) * LARGEST_ELEMENT,
        // Each half has its own segments.
        (Bcast, "split_binary_tree") => segment.saturating_add(LARGEST_ELEMENT).saturating_mul(2),
        _ => 0,
    };
    Some(Limits {
        // Two ranks, a power of two, an even number.
        only_these_ranks: id == "two_proc"
            || collective == Allgather && matches!(id, "recursive_doubling" | "neighbor"),
        from_bytes,
    })
}

//! What MPICH's algorithms are good for.

use schedule::Collective::*;
use vocabulary::Cell;

use crate::LibraryAlgorithm;
use crate::algorithm::{of, power_below};

/// From the sources of 4.0. Those that are not listed are wrong for operators that do not commute, or
/// refuse operators that are not built in, and are like none of ours. The Rabenseifner reduction does not
/// fold evenly.
pub(super) const ALGORITHMS: [LibraryAlgorithm; 11] = [
    of(Allgather, "ring").same(),
    of(Allreduce, "recursive_doubling").ordered().same(),
    of(Bcast, "binomial").same(),
    of(Bcast, "scatter_ring_allgather").like("scatter_allgather_ring"),
    of(Reduce, "binomial").ordered().same(),
    of(Reduce, "reduce_scatter_gather").like("rabenseifner_unbalanced"),
    of(ReduceScatter, "noncommutative").ordered(),
    of(ReduceScatter, "recursive_doubling").ordered(),
    of(ReduceScatterBlock, "noncommutative").ordered(),
    of(ReduceScatterBlock, "recursive_doubling").ordered(),
    of(Scan, "recursive_doubling").ordered(),
];

/// Whether a forced algorithm is carried out (4.0): the library returns no error, having been told not to
/// replace what is forced, and does not abort.
pub(super) fn runs(cell: &Cell, id: &str) -> bool {
    let ranks = u64::from(cell.shape.ranks());
    let elements = cell.bytes / cell.datatype.size_bytes();
    match (cell.collective, id) {
        // For calls in place only.
        (Alltoall, "pairwise_sendrecv_replace") => false,
        (Allgather, "recursive_doubling") | (ReduceScatterBlock, "noncommutative") => {
            ranks.is_power_of_two()
        }
        // An assertion.
        (ReduceScatter, "noncommutative") => {
            ranks.is_power_of_two() && elements.is_multiple_of(ranks)
        }
        (Allreduce, "reduce_scatter_allgather") | (Reduce, "reduce_scatter_gather") => {
            elements >= power_below(ranks)
        }
        _ => true,
    }
}

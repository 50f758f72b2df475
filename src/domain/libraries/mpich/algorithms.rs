//! The properties of MPICH's algorithms.

use schedule::Collective::*;
use vocabulary::Cell;

use crate::LibraryAlgorithm;
use crate::algorithm::{ORDERED, SAME, like, of, power_below};

/// Algorithms in the sources of 4.0. Others are wrong for operators that do not commute, or refuse operators that are
/// not built in, and have no equivalent among ours. The Rabenseifner reduction does not fold evenly.
pub(super) const ALGORITHMS: [LibraryAlgorithm; 11] = [
    of(Allgather, "ring", SAME),
    of(Allreduce, "recursive_doubling", ORDERED | SAME),
    of(Bcast, "binomial", SAME),
    like("scatter_allgather_ring", Bcast, "scatter_ring_allgather", 0),
    of(Reduce, "binomial", ORDERED | SAME),
    like(
        "rabenseifner_unbalanced",
        Reduce,
        "reduce_scatter_gather",
        0,
    ),
    of(ReduceScatter, "noncommutative", ORDERED),
    of(ReduceScatter, "recursive_doubling", ORDERED),
    of(ReduceScatterBlock, "noncommutative", ORDERED),
    of(ReduceScatterBlock, "recursive_doubling", ORDERED),
    of(Scan, "recursive_doubling", ORDERED),
];

/// Whether a forced algorithm is carried out (4.0): the library, configured not to replace forced algorithms, neither
/// returns an error nor aborts.
pub(super) fn runs(cell: &Cell, id: &str) -> bool {
    let ranks = u64::from(cell.shape.ranks());
    let elements = cell.bytes / cell.datatype.size_bytes();
    match (cell.collective, id) {
        // For calls in place only.
        (Alltoall, "pairwise_sendrecv_replace") => false,
        (Allgather, "recursive_doubling") | (ReduceScatterBlock, "noncommutative") => {
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

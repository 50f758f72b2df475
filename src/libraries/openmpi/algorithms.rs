//! The algorithms of `coll/tuned`, and what it makes of them.

use schedule::Collective::{self, *};
use vocabulary::{Cell, Parameters};

use crate::LibraryAlgorithm;
use crate::algorithm::{of, power_below};

/// The collectives by their numbers in rules files.
pub const COLLECTIVES: [(Collective, u32); 11] = [
    (Allgather, 0),
    (Allreduce, 2),
    (Alltoall, 3),
    (Barrier, 6),
    (Bcast, 7),
    (Gather, 9),
    (Reduce, 11),
    (ReduceScatter, 12),
    (ReduceScatterBlock, 13),
    (Scan, 14),
    (Scatter, 15),
];

/// All of 4.1 and 5.0. Those of a collective are numbered from 1 in this order; numbers never change, new
/// ones are added behind. From the documentation of the control variables (`ompi_info --param coll
/// tuned -l 9`) and, for what that does not tell, the sources of 4.1.
///
/// Names are no guide to twins: the `basic_linear` broadcast posts all sends at once, `pipeline` is a
/// chain, the Rabenseifner reduction folds evenly.
pub(super) const ALGORITHMS: [LibraryAlgorithm; 56] = [
    of(Allgather, "linear"),
    of(Allgather, "bruck").same(),
    of(Allgather, "recursive_doubling").same(),
    of(Allgather, "ring").same(),
    of(Allgather, "neighbor").like("neighbor_exchange"),
    of(Allgather, "two_proc"),
    of(Allgather, "sparbit").since(5),
    of(Allreduce, "basic_linear").ordered(),
    of(Allreduce, "nonoverlapping").ordered(),
    of(Allreduce, "recursive_doubling").ordered().same(),
    of(Allreduce, "ring").same(),
    of(Allreduce, "segmented_ring").segments(),
    of(Allreduce, "rabenseifner").ordered().same(),
    of(Alltoall, "linear"),
    of(Alltoall, "pairwise"),
    of(Alltoall, "modified_bruck"),
    of(Alltoall, "linear_sync"),
    of(Alltoall, "two_proc"),
    of(Barrier, "linear"),
    of(Barrier, "double_ring"),
    of(Barrier, "recursive_doubling"),
    of(Barrier, "bruck"),
    of(Barrier, "two_proc"),
    of(Barrier, "tree"),
    of(Bcast, "basic_linear").like("linear_nonblocking"),
    of(Bcast, "chain").segments().fanout(),
    of(Bcast, "pipeline").segments().like("chain"),
    of(Bcast, "split_binary_tree").segments(),
    of(Bcast, "binary_tree").segments().like("binary_pipelined"),
    of(Bcast, "binomial").segments().same(),
    of(Bcast, "knomial").segments().radix(4).same(),
    of(Bcast, "scatter_allgather").same(),
    of(Bcast, "scatter_allgather_ring").same(),
    of(Gather, "basic_linear").like("linear"),
    of(Gather, "binomial").same(),
    of(Gather, "linear_sync").segments(),
    of(Reduce, "linear").ordered().same(),
    of(Reduce, "chain").segments().fanout(),
    of(Reduce, "pipeline").segments().like("chain"),
    of(Reduce, "binary").segments().like("binary_pipelined"),
    of(Reduce, "binomial").segments().same(),
    of(Reduce, "in-order_binary").segments().ordered(),
    of(Reduce, "rabenseifner").ordered().same(),
    of(ReduceScatter, "non-overlapping").ordered(),
    of(ReduceScatter, "recursive_halving").same(),
    of(ReduceScatter, "ring").same(),
    of(ReduceScatter, "butterfly").ordered(),
    of(ReduceScatterBlock, "basic_linear").ordered(),
    of(ReduceScatterBlock, "recursive_doubling")
        .ordered()
        .same(),
    of(ReduceScatterBlock, "recursive_halving").ordered().same(),
    of(ReduceScatterBlock, "butterfly").ordered(),
    of(Scan, "linear").ordered(),
    of(Scan, "recursive_doubling").ordered(),
    of(Scatter, "basic_linear").like("linear"),
    of(Scatter, "binomial").same(),
    of(Scatter, "linear_nb").like("linear_nonblocking"),
];

/// Whether the algorithm serves exactly this number of ranks.
pub fn serves(collective: Collective, id: &str, ranks: u32) -> bool {
    match (collective, id) {
        (_, "two_proc") => ranks == 2,
        (Allgather, "recursive_doubling") => ranks.is_power_of_two(),
        (Allgather, "neighbor") => ranks.is_multiple_of(2),
        _ => true,
    }
}

/// Whether a forced algorithm is carried out (4.1), and neither fails nor is replaced by another one.
pub(super) fn runs(cell: &Cell, id: &str, parameters: &Parameters) -> bool {
    let ranks = u64::from(cell.shape.ranks());
    let elements = cell.bytes / cell.datatype.size_bytes();
    let segment = parameters.segment_bytes.unwrap_or(0) / cell.datatype.size_bytes();
    let has_enough = match (cell.collective, id) {
        // Each half has a segment of its own.
        (Bcast, "split_binary_tree") => elements >= 2 && segment <= elements / 2,
        (Bcast, "scatter_allgather" | "scatter_allgather_ring") | (Allreduce, "ring") => {
            elements >= ranks
        }
        (Allreduce, "segmented_ring") => segment > 0 && elements >= ranks * segment,
        (Allreduce | Reduce, "rabenseifner") => elements >= power_below(ranks),
        _ => true,
    };
    has_enough && serves(cell.collective, id, cell.shape.ranks())
}

/// The largest predefined element: a complex number of two long doubles.
const LARGEST_ELEMENT: u64 = 32;

/// Where an algorithm is what runs, and not another one in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Only on numbers of ranks like the one that was measured: not on those after it.
    pub only_these_ranks: bool,
    /// Only from this many bytes on, whatever the datatype.
    pub from_bytes: u64,
}

/// The limits of an algorithm with segments of so many bytes, 0 for none, on up to `ranks` ranks; `None`
/// if it never runs there.
pub fn limits(collective: Collective, id: &str, segment: u64, ranks: u32) -> Option<Limits> {
    let ranks = u64::from(ranks);
    let from_bytes = match (collective, id) {
        (Allreduce, "ring") | (Bcast, "scatter_allgather" | "scatter_allgather_ring") => {
            ranks.saturating_mul(LARGEST_ELEMENT)
        }
        (Allreduce, "segmented_ring") if segment == 0 => return None,
        (Allreduce, "segmented_ring") => ranks.saturating_mul(segment.max(LARGEST_ELEMENT)),
        (Allreduce | Reduce, "rabenseifner") => power_below(ranks) * LARGEST_ELEMENT,
        // Each half has a segment of its own.
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

//! What `coll/tuned` calls its collectives and algorithms, and what it makes of them.

use schedule::Collective;

use crate::Native;

/// A collective as the component numbers it.
pub(super) struct Known {
    pub(super) collective: Collective,
    /// Its number in rules files.
    pub(super) number: u32,
    /// Its algorithms, numbered from 1. Numbers never change, new ones are added behind.
    pub(super) ids: &'static [&'static str],
    /// How many of them the 4.1 series has.
    pub(super) of_4_1: usize,
}

const fn known(
    collective: Collective,
    number: u32,
    ids: &'static [&'static str],
    of_4_1: usize,
) -> Known {
    Known {
        collective,
        number,
        ids,
        of_4_1,
    }
}

/// From the documentation of the control variables (`ompi_info --param coll tuned -l 9`), 4.1 and 5.0.
pub(super) const KNOWN: [Known; 11] = [
    known(
        Collective::Allgather,
        0,
        &[
            "linear",
            "bruck",
            "recursive_doubling",
            "ring",
            "neighbor",
            "two_proc",
            "sparbit",
        ],
        6,
    ),
    known(
        Collective::Allreduce,
        2,
        &[
            "basic_linear",
            "nonoverlapping",
            "recursive_doubling",
            "ring",
            "segmented_ring",
            "rabenseifner",
        ],
        6,
    ),
    known(
        Collective::Alltoall,
        3,
        &[
            "linear",
            "pairwise",
            "modified_bruck",
            "linear_sync",
            "two_proc",
        ],
        5,
    ),
    known(
        Collective::Barrier,
        6,
        &[
            "linear",
            "double_ring",
            "recursive_doubling",
            "bruck",
            "two_proc",
            "tree",
        ],
        6,
    ),
    known(
        Collective::Bcast,
        7,
        &[
            "basic_linear",
            "chain",
            "pipeline",
            "split_binary_tree",
            "binary_tree",
            "binomial",
            "knomial",
            "scatter_allgather",
            "scatter_allgather_ring",
        ],
        9,
    ),
    known(
        Collective::Gather,
        9,
        &["basic_linear", "binomial", "linear_sync"],
        3,
    ),
    known(
        Collective::Reduce,
        11,
        &[
            "linear",
            "chain",
            "pipeline",
            "binary",
            "binomial",
            "in-order_binary",
            "rabenseifner",
        ],
        7,
    ),
    known(
        Collective::ReduceScatter,
        12,
        &["non-overlapping", "recursive_halving", "ring", "butterfly"],
        4,
    ),
    known(
        Collective::ReduceScatterBlock,
        13,
        &[
            "basic_linear",
            "recursive_doubling",
            "recursive_halving",
            "butterfly",
        ],
        4,
    ),
    known(Collective::Scan, 14, &["linear", "recursive_doubling"], 2),
    known(
        Collective::Scatter,
        15,
        &["basic_linear", "binomial", "linear_nb"],
        3,
    ),
];

/// What the component looks at to tell messages apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// What tables mean by message size.
    Message,
    /// That times the number of ranks.
    AllRanks,
    /// Nothing that a table could follow: there may be one row only. Gather and scatter look at what
    /// is significant at the root alone, so that ranks of a legal program would choose differently;
    /// scan looks at the type, not at how many; a barrier has no size.
    Nothing,
}

pub(super) fn measure(collective: Collective) -> Measure {
    match collective {
        Collective::Bcast
        | Collective::Reduce
        | Collective::Allreduce
        | Collective::ReduceScatter => Measure::Message,
        Collective::Allgather | Collective::ReduceScatterBlock | Collective::Alltoall => {
            Measure::AllRanks
        }
        Collective::Gather | Collective::Scatter | Collective::Scan | Collective::Barrier => {
            Measure::Nothing
        }
    }
}

/// The largest predefined element: a complex number of two long doubles.
const LARGEST_ELEMENT: u64 = 32;

/// Where an algorithm is what runs, and not another one in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// Only on numbers of ranks like the one that was measured: not on those after it.
    pub(super) only_these_ranks: bool,
    /// Only from this many bytes on, whatever the datatype.
    pub(super) from_bytes: u64,
}

/// The limits of an algorithm on up to `ranks` ranks; `None` if it never runs there.
pub(super) fn limits(collective: Collective, native: &Native, ranks: u32) -> Option<Limits> {
    let ranks = u64::from(ranks);
    let power_below = 1_u64 << ranks.max(1).ilog2();
    let segment = native.segment_bytes.unwrap_or(0);
    let only_these_ranks = match (collective, native.id.as_str()) {
        (_, "two_proc") => true,
        // A power of two, an even number.
        (Collective::Allgather, "recursive_doubling" | "neighbor") => true,
        _ => false,
    };
    let from_bytes = match (collective, native.id.as_str()) {
        (Collective::Allreduce, "ring")
        | (Collective::Bcast, "scatter_allgather" | "scatter_allgather_ring") => {
            ranks.saturating_mul(LARGEST_ELEMENT)
        }
        (Collective::Allreduce, "segmented_ring") if segment == 0 => return None,
        (Collective::Allreduce, "segmented_ring") => {
            ranks.saturating_mul(segment.max(LARGEST_ELEMENT))
        }
        (Collective::Allreduce | Collective::Reduce, "rabenseifner") => {
            power_below * LARGEST_ELEMENT
        }
        // Each half has a segment of its own.
        (Collective::Bcast, "split_binary_tree") => {
            segment.saturating_add(LARGEST_ELEMENT).saturating_mul(2)
        }
        _ => 0,
    };
    Some(Limits {
        only_these_ranks,
        from_bytes,
    })
}

/// Whether the algorithm serves exactly this number of ranks.
pub(super) fn serves(collective: Collective, id: &str, ranks: u32) -> bool {
    match (collective, id) {
        (_, "two_proc") => ranks == 2,
        (Collective::Allgather, "recursive_doubling") => ranks.is_power_of_two(),
        (Collective::Allgather, "neighbor") => ranks.is_multiple_of(2),
        _ => true,
    }
}

/// The fanout that a rule must give: what the library takes if none is forced.
pub(super) fn fanout(collective: Collective, native: &Native) -> u32 {
    const INITIAL: u32 = 4;
    match (collective, native.id.as_str()) {
        (Collective::Bcast | Collective::Reduce, "chain") => native.fanout.unwrap_or(INITIAL),
        _ => 0,
    }
}

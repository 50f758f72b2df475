//! The algorithms of Open MPI.

use schedule::Collective;

/// The functions behind the algorithms of each collective, in the order of their numbers.
pub(super) const FUNCTIONS: [(Collective, &[&str]); 11] = [
    (
        Collective::Bcast,
        &[
            "basic_linear",
            "chain",
            "pipeline",
            "split_bintree",
            "bintree",
            "binomial",
            "knomial",
            "scatter_allgather",
            "scatter_allgather_ring",
        ],
    ),
    (
        Collective::Reduce,
        &[
            "basic_linear",
            "chain",
            "pipeline",
            "binary",
            "binomial",
            "in_order_binary",
            "redscat_gather",
        ],
    ),
    (
        Collective::Allreduce,
        &[
            "basic_linear",
            "nonoverlapping",
            "recursivedoubling",
            "ring",
            "ring_segmented",
            "redscat_allgather",
        ],
    ),
    (
        Collective::Gather,
        &["basic_linear", "binomial", "linear_sync"],
    ),
    (
        Collective::Scatter,
        &["basic_linear", "binomial", "linear_nb"],
    ),
    (
        Collective::Allgather,
        &[
            "basic_linear",
            "bruck",
            "recursivedoubling",
            "ring",
            "neighborexchange",
            "two_procs",
        ],
    ),
    (
        Collective::ReduceScatter,
        &[
            "nonoverlapping",
            "basic_recursivehalving",
            "ring",
            "butterfly",
        ],
    ),
    (
        Collective::ReduceScatterBlock,
        &[
            "basic_linear",
            "recursivedoubling",
            "recursivehalving",
            "butterfly",
        ],
    ),
    (
        Collective::Alltoall,
        &[
            "basic_linear",
            "pairwise",
            "bruck",
            "linear_sync",
            "two_procs",
        ],
    ),
    (
        Collective::Barrier,
        &[
            "basic_linear",
            "doublering",
            "recursivedoubling",
            "bruck",
            "two_procs",
            "tree",
        ],
    ),
    (Collective::Scan, &["linear", "recursivedoubling"]),
];

/// The names of algorithms in tables.
pub(super) const IDS: [(Collective, &[&str]); 11] = [
    (
        Collective::Bcast,
        &[
            "basic_linear",
            "chain, fanout: 2",
            "pipeline, segment_bytes: 128",
            "split_binary_tree, segment_bytes: 64",
            "binary_tree",
            "binomial, segment_bytes: 1K",
            "knomial",
            "scatter_allgather",
            "scatter_allgather_ring",
            "chain",
        ],
    ),
    (
        Collective::Reduce,
        &[
            "linear",
            "chain, fanout: 2, segment_bytes: 64",
            "pipeline",
            "binary",
            "binomial",
            "in-order_binary, segment_bytes: 256",
            "rabenseifner",
        ],
    ),
    (
        Collective::Allreduce,
        &[
            "basic_linear",
            "nonoverlapping",
            "recursive_doubling",
            "ring",
            "segmented_ring, segment_bytes: 64",
            "rabenseifner",
        ],
    ),
    (
        Collective::Allgather,
        &[
            "linear",
            "bruck",
            "recursive_doubling",
            "ring",
            "neighbor",
            "two_proc",
        ],
    ),
    (
        Collective::ReduceScatter,
        &["non-overlapping", "recursive_halving", "ring", "butterfly"],
    ),
    (
        Collective::ReduceScatterBlock,
        &[
            "basic_linear",
            "recursive_doubling",
            "recursive_halving",
            "butterfly",
        ],
    ),
    (
        Collective::Alltoall,
        &[
            "linear",
            "pairwise",
            "modified_bruck",
            "linear_sync",
            "two_proc",
        ],
    ),
    // One choice for all sizes, which differs between numbers of ranks.
    (
        Collective::Gather,
        &["basic_linear", "binomial", "linear_sync"],
    ),
    (
        Collective::Scatter,
        &["linear_nb", "basic_linear", "binomial"],
    ),
    (Collective::Barrier, &["double_ring", "bruck", "tree"]),
    (
        Collective::Scan,
        &["recursive_doubling", "linear", "recursive_doubling"],
    ),
];

//! The collectives of rules files, and the algorithms of `tuned` that they can name.

use schedule::Collective;

use crate::{LibraryAlgorithm, LibraryName};

/// A collective by its number in rules files, and the algorithms that `tuned` has for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct TunedCollective {
    pub(super) name: &'static str,
    /// The algorithms from number 1 on; empty if `tuned` has none.
    algorithms: &'static [&'static str],
    /// How many of them 4.0, 4.1, 5.0 and 6.0 have.
    counts: [usize; 4],
}

const fn tuned(
    name: &'static str,
    algorithms: &'static [&'static str],
    counts: [usize; 4],
) -> TunedCollective {
    TunedCollective {
        name,
        algorithms,
        counts,
    }
}

const fn without_tuned(name: &'static str) -> TunedCollective {
    tuned(name, &[], [0; 4])
}

/// The collectives by their numbers, from the sources of 4.0.7, 4.1.8, 5.0.10 and 6.0 (`coll_tuned_*_decision.c`). Other
/// names of an algorithm in 6.0 stand after `|`.
pub(super) const NUMBERED: [TunedCollective; 22] = [
    tuned(
        "allgather",
        &[
            "linear",
            "bruck|bruck-k-fanout",
            "recursive_doubling",
            "ring",
            "neighbor",
            "two_proc",
            "sparbit",
            "direct-messaging",
        ],
        [6, 6, 7, 8],
    ),
    tuned(
        "allgatherv",
        &[
            "default", "bruck", "ring", "neighbor", "two_proc", "sparbit",
        ],
        [5, 5, 6, 6],
    ),
    tuned(
        "allreduce",
        &[
            "basic_linear",
            "nonoverlapping",
            "recursive_doubling",
            "ring",
            "segmented_ring",
            "rabenseifner",
            "allgather_reduce",
        ],
        [6, 6, 6, 7],
    ),
    tuned(
        "alltoall",
        &[
            "linear",
            "pairwise",
            "modified_bruck",
            "linear_sync",
            "two_proc",
        ],
        [5; 4],
    ),
    tuned("alltoallv", &["basic_linear", "pairwise"], [2; 4]),
    without_tuned("alltoallw"),
    tuned(
        "barrier",
        &[
            "linear",
            "double_ring",
            "recursive_doubling",
            "bruck",
            "two_proc",
            "tree",
        ],
        [6; 4],
    ),
    tuned(
        "bcast",
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
        [9; 4],
    ),
    tuned("exscan", &["linear", "recursive_doubling"], [2; 4]),
    tuned(
        "gather",
        &["basic_linear", "binomial", "linear_sync"],
        [3; 4],
    ),
    without_tuned("gatherv"),
    tuned(
        "reduce",
        &[
            "linear",
            "chain",
            "pipeline",
            "binary",
            "binomial",
            "in-order_binary",
            "rabenseifner",
            "knomial",
        ],
        [7, 7, 7, 8],
    ),
    tuned(
        "reduce_scatter",
        &["non-overlapping", "recursive_halving", "ring", "butterfly"],
        [4; 4],
    ),
    tuned(
        "reduce_scatter_block",
        &[
            "basic_linear",
            "recursive_doubling",
            "recursive_halving",
            "butterfly",
        ],
        [4; 4],
    ),
    tuned("scan", &["linear", "recursive_doubling"], [2; 4]),
    tuned(
        "scatter",
        &["basic_linear", "binomial", "linear_nb"],
        [2, 3, 3, 3],
    ),
    without_tuned("scatterv"),
    without_tuned("neighbor_allgather"),
    without_tuned("neighbor_allgatherv"),
    without_tuned("neighbor_alltoall"),
    without_tuned("neighbor_alltoallv"),
    without_tuned("neighbor_alltoallw"),
];

/// The collective with a number.
pub(super) fn collective_by_number(number: i64) -> Option<&'static TunedCollective> {
    NUMBERED.get(usize::try_from(number).ok()?)
}

impl TunedCollective {
    /// The names of the algorithms that a release has, from number 1 on.
    pub(super) fn algorithms_of(&self, release: [u32; 3]) -> impl Iterator<Item = &'static str> {
        let series = match release {
            [..=3, ..] | [4, 0, _] => 0,
            [4, ..] => 1,
            [5, ..] => 2,
            _ => 3,
        };
        let is_new = series == 3;
        let listed = self.algorithms.iter().take(self.counts[series]);
        listed.map(move |names| match names.split_once('|') {
            Some((_, new)) if is_new => new,
            Some((old, _)) => old,
            None => names,
        })
    }

    /// The number of an algorithm in a release.
    pub(super) fn number_of(&self, release: [u32; 3], algorithm: &str) -> Option<i64> {
        let place = self
            .algorithms_of(release)
            .position(|known| known.eq_ignore_ascii_case(algorithm))?;
        i64::try_from(place + 1).ok()
    }

    /// The name of an algorithm of a release.
    pub(super) fn algorithm(&self, release: [u32; 3], number: i64) -> Option<&'static str> {
        let place = usize::try_from(number).ok()?.checked_sub(1)?;
        self.algorithms_of(release).nth(place)
    }

    /// Whether `tuned` carries the collective out.
    pub(super) fn is_served(&self) -> bool {
        !self.algorithms.is_empty()
    }

    /// What is known about an algorithm.
    pub(super) fn known_algorithm(&self, algorithm: &str) -> Option<&'static LibraryAlgorithm> {
        let collective: Collective = self.name.parse().ok()?;
        let algorithm = if algorithm == "bruck-k-fanout" {
            "bruck"
        } else {
            algorithm
        };
        LibraryName::OpenMpi.known_algorithm(collective, algorithm)
    }

    /// Whether an algorithm is wrong for operators that do not commute.
    pub(super) fn is_unordered(&self, algorithm: &str) -> bool {
        let is_reduction = self
            .name
            .parse::<Collective>()
            .is_ok_and(Collective::is_reduction);
        is_reduction
            && self
                .known_algorithm(algorithm)
                .is_some_and(|known| !known.is_ordered)
    }

    /// Whether ranks of a correct program may see different message sizes, so that one rule for all sizes is needed.
    pub(super) fn has_local_sizes(&self) -> bool {
        ["gather", "scatter"].contains(&self.name)
    }

    /// Whether the component looks up every call with a message size of 0.
    pub(super) fn has_no_sizes(&self) -> bool {
        ["barrier", "alltoallv"].contains(&self.name)
    }

    /// Whether an algorithm is for two ranks only; it returns an error for more.
    pub(super) fn is_for_two_ranks(algorithm: &str) -> bool {
        algorithm == "two_proc"
    }
}

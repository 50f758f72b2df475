//! Comparisons of our algorithms with the library's own.

use schedule::Collective;
use statistics::PairedRatio;
use vocabulary::CommShape;

/// Our algorithms' times divided by those of the library's algorithms, for one collective and communicator shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    /// The collective.
    pub collective: Collective,
    /// The communicator's shape.
    pub shape: CommShape,
    /// Equivalent algorithms with the same parameters.
    pub equivalents: Vec<Pair>,
    /// The number of points left out of `equivalents` because one of the two was eliminated in some launch, so that its time
    /// is uncertain and probably too long.
    pub left_equivalents: usize,
    /// Our best algorithm against the library's best, chosen for each launch by the times of the other launches.
    pub best: Vec<Pair>,
}

/// One algorithm compared with another at all sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// Our algorithm.
    pub name: String,
    /// The library's algorithm.
    pub against: String,
    /// The time of ours divided by that of the library's, paired within launches, by ascending size in bytes.
    pub points: Vec<(u64, PairedRatio)>,
}

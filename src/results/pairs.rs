//! Our algorithms beside the library's own.

use schedule::Collective;
use statistics::PairedRatio;
use vocabulary::CommShape;

/// Times of one against times of another, for one collective and communicator shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    /// The collective.
    pub collective: Collective,
    /// The ranks.
    pub shape: CommShape,
    /// Algorithms that do the same, each row with the same parameters.
    pub twins: Vec<Pair>,
    /// How many points of twins are left out, as one of the two left the race in some launch, where
    /// its time is known less well and rather too long.
    pub left_twins: usize,
    /// The best of several, whatever they do, chosen for each launch by the times of the others.
    pub best: Vec<Pair>,
}

/// One against another over the sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// What is compared.
    pub name: String,
    /// The algorithm that it is compared with.
    pub against: String,
    /// Its time divided by the other's, paired inside launches, by ascending size in bytes.
    pub points: Vec<(u64, PairedRatio)>,
}

//! A binomial tree whose ranks first learn how much data their children need.

use crate::registry::Algorithm;
use crate::scatter::reversed;
use crate::{Collective, gather, gatherv};

/// The gatherv of the same name, whose data go the other way: sizes are told towards the root as well, since each rank knows
/// its own.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Scatterv,
    program: |shape, rank| {
        let program = reversed(&gather::binomial::ALGORITHM, shape, rank);
        gatherv::binomial::after_sizes(shape, rank, program)
    },
    ..gatherv::binomial::ALGORITHM
};

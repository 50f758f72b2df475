//! Scatter algorithms: every rank's output gets its part of the root's input. All are the duals of
//! gathers.

use crate::program::{Program, Reversed};
use crate::registry::Algorithm;
use crate::{Collective, Rank, Shape};

pub(crate) mod binary;
pub(crate) mod binomial;
pub(crate) mod knomial;
pub(crate) mod leaders;
pub(crate) mod linear;
pub(crate) mod linear_nonblocking;
pub(crate) mod mst;

/// The row of a gather's dual, without the program.
const fn dual(gather: Algorithm) -> Algorithm {
    gather.for_collective(Collective::Scatter)
}

/// A gather run backwards.
pub(crate) fn reversed(gather: &Algorithm, shape: &Shape, rank: Rank) -> Box<dyn Program> {
    Box::new(Reversed((gather.program)(shape, rank)))
}

//! The binomial tree, from the root down.

use super::reversed;
use crate::registry::Algorithm;
use crate::{Rank, Shape, gather};

/// The gather of the same name run backwards, at the same cost.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    summary: "binomial tree, largest subtree first",
    program: |shape: &Shape, rank: Rank| reversed(&gather::binomial::ALGORITHM, shape, rank),
    ..super::dual(gather::binomial::ALGORITHM)
};

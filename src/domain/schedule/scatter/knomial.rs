//! The tree of radix k, from the root down.

use super::reversed;
use crate::registry::Algorithm;
use crate::{Rank, Shape, gather};

/// The gather of the same name run backwards, at the same cost.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    summary: "tree of radix k, largest subtrees first",
    program: |shape: &Shape, rank: Rank| reversed(&gather::knomial::ALGORITHM, shape, rank),
    ..super::dual(gather::knomial::ALGORITHM)
};

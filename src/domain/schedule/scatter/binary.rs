//! The complete binary tree, both children at once.

use super::reversed;
use crate::registry::Algorithm;
use crate::{Rank, Shape, gather};

/// The gather of the same name run backwards, at the same cost.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    summary: "complete binary tree in pre-order, both children sent at once",
    program: |shape: &Shape, rank: Rank| reversed(&gather::binary::ALGORITHM, shape, rank),
    ..super::dual(gather::binary::ALGORITHM)
};

//! The minimum spanning tree, from the root down.

use super::reversed;
use crate::registry::Algorithm;
use crate::{Rank, Shape, gather};

/// The gather of the same name run backwards, at the same cost.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    summary: "minimum spanning tree: a range of ranks is halved",
    program: |shape: &Shape, rank: Rank| reversed(&gather::mst::ALGORITHM, shape, rank),
    ..super::dual(gather::mst::ALGORITHM)
};

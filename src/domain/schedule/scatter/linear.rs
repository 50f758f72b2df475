//! The root sends every rank its part in turn.

use super::reversed;
use crate::registry::Algorithm;
use crate::{Rank, Shape, gather};

/// The gather of the same name run backwards, at the same cost.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    summary: "the root sends every rank its part in turn",
    program: |shape: &Shape, rank: Rank| reversed(&gather::linear::ALGORITHM, shape, rank),
    ..super::dual(gather::linear::ALGORITHM)
};

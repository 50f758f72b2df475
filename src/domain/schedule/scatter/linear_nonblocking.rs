//! The root sends all ranks their parts at once.

use super::reversed;
use crate::registry::Algorithm;
use crate::{Rank, Shape, gather};

/// The gather of the same name run backwards, at the same cost.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    summary: "the root starts sends to all ranks and waits for all",
    program: |shape: &Shape, rank: Rank| {
        reversed(&gather::linear_nonblocking::ALGORITHM, shape, rank)
    },
    ..super::dual(gather::linear_nonblocking::ALGORITHM)
};

//! Gather algorithms: every rank's input reaches its part of the root's output.

use crate::Cost;

pub(crate) mod binary;
pub(crate) mod binary_chunked;
pub(crate) mod binomial;
mod collecting;
pub(crate) mod linear;
pub(crate) mod linear_nonblocking;
pub(crate) mod linear_sync;
pub(crate) mod mst;
pub(crate) mod ring;
pub(crate) mod ring_accumulate;
mod star;
mod streaming;

/// What a tree costs in which the root is always the busiest: it receives in every one of the
/// `levels`, from all others together.
pub(crate) fn tree_cost(levels: u32, ranks: u32) -> Option<Cost> {
    Some(Cost::Fixed {
        steps: levels.into(),
        moved: u64::from(ranks) - 1,
        combined: 0,
        parts: 1,
    })
}

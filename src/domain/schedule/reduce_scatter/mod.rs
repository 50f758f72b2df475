//! Reduce-scatter algorithms: every rank's output gets its part of the combination of all inputs.
//! Each is registered for parts of any sizes and for parts of one size.
//!
//! In place the output is at the start of the input, so it is written only when the input is no longer needed.

use crate::{Buffer, Partition, Rank, Span};

pub(crate) mod bine;
pub(crate) mod butterfly;
pub(crate) mod circulant;
mod folded;
pub(crate) mod k_circulant;
pub(crate) mod lanes;
pub(crate) mod leaders;
pub(crate) mod pairwise;
pub(crate) mod recursive_doubling;
pub(crate) mod recursive_halving;
pub(crate) mod reduce_scatter_by_reduce;
mod reversed;
pub(crate) mod ring;

/// The parts of `count` ranks from `first`, cyclically.
fn parts(buffer: Buffer, first: Rank, count: u32, ranks: u32) -> Span {
    Span::blocks(buffer, Partition::parts(ranks), first.into(), count.into())
}

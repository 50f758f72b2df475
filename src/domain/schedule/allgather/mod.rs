//! Allgather algorithms: every rank's input reaches its part of every output.

use crate::{Buffer, Partition, Rank, Span};

pub(crate) mod bine;
pub(crate) mod bruck;
pub(crate) mod circulant;
mod exchanging;
pub(crate) mod gather_broadcast;
pub(crate) mod k_circulant;
pub(crate) mod lanes;
pub(crate) mod leaders;
pub(crate) mod linear;
pub(crate) mod neighbor_exchange;
pub(crate) mod recursive_doubling;
pub(crate) mod ring;

/// The contribution of a rank, in its input.
fn contribution(rank: Rank, ranks: u32) -> Span {
    Span::block(Buffer::Input, Partition::parts(ranks), rank.into())
}

/// The contributions of `count` ranks from `first`, cyclically, in the output.
fn gathered(first: Rank, count: u32, ranks: u32) -> Span {
    let partition = Partition::parts(ranks);
    Span::blocks(Buffer::Output, partition, first.into(), count.into())
}

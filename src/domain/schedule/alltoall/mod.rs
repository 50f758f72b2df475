//! Alltoall algorithms: rank r's part of every rank's input reaches that rank's part of rank r's output.
//!
//! A rank's vector is its row of the matrix of blocks. The two ends of a message name different blocks: block `s` of
//! rank `r`'s input becomes block `r` of rank `s`'s output.

use crate::{Buffer, Partition, Rank, Span};

pub(crate) mod batched;
pub(crate) mod bruck;
pub(crate) mod bruck_modified;
pub(crate) mod lanes;
pub(crate) mod leaders;
pub(crate) mod linear;
pub(crate) mod pairwise;

/// The blocks of `count` ranks from `first`, which may wrap around.
fn blocks_of_ranks(buffer: Buffer, first: Rank, count: u32, ranks: u32) -> Span {
    Span::blocks(buffer, Partition::parts(ranks), first.into(), count.into())
}

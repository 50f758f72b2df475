//! Broadcast algorithms: the root's output reaches every rank's output.

pub(crate) mod binary_pipelined;
pub(crate) mod bine;
pub(crate) mod binomial;
pub(crate) mod chain;
pub(crate) mod circulant;
mod descending;
pub(crate) mod knomial;
pub(crate) mod lanes;
pub(crate) mod leaders;
pub(crate) mod leaders_pipelined;
pub(crate) mod linear;
pub(crate) mod linear_nonblocking;
pub(crate) mod mst;
pub(crate) mod scatter_allgather;
pub(crate) mod scatter_allgather_ring;
pub(crate) mod split_binary;
pub(crate) mod two_tree;

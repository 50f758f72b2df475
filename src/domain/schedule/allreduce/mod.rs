//! Allreduce algorithms: all inputs, combined in rank order, reach every rank's output.

pub(crate) mod bine;
pub(crate) mod circulant;
mod doubly_pipelined;
pub(crate) mod doubly_pipelined_tree;
pub(crate) mod dual_root;
pub(crate) mod lanes;
pub(crate) mod leaders;
pub(crate) mod leaders_pipelined;
pub(crate) mod pipelined_tree;
pub(crate) mod rabenseifner;
pub(crate) mod recursive_doubling;
pub(crate) mod recursive_multiplying;
pub(crate) mod reduce_broadcast;
pub(crate) mod ring;
pub(crate) mod ring_segmented;
pub(crate) mod two_tree;

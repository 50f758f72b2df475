//! Reduce algorithms: all inputs, combined in rank order, reach the root's output.

mod ascending;
pub(crate) mod binary;
pub(crate) mod binary_pipelined;
pub(crate) mod bine;
pub(crate) mod binomial;
pub(crate) mod chain;
pub(crate) mod circulant;
pub(crate) mod fibonacci;
pub(crate) mod fibonacci_pipelined;
pub(crate) mod halving;
pub(crate) mod knomial;
pub(crate) mod lanes;
pub(crate) mod leaders;
pub(crate) mod leaders_pipelined;
pub(crate) mod linear;
pub(crate) mod mst;
pub(crate) mod rabenseifner;
pub(crate) mod rabenseifner_unbalanced;
pub(crate) mod reduce_scatter_gather_ring;
mod relayed;
pub(crate) mod two_tree;

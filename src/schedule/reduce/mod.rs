//! Reduce algorithms: all inputs, combined in rank order, reach the root's output.

pub(crate) mod binary;
pub(crate) mod binary_pipelined;
pub(crate) mod binomial;
pub(crate) mod chain;
pub(crate) mod fibonacci;
pub(crate) mod fibonacci_pipelined;
pub(crate) mod linear;
pub(crate) mod mst;
mod relayed;
mod reversed;

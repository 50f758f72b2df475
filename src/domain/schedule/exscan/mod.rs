//! Exclusive scans: rank r gets the combination of the inputs of ranks 0 to r - 1. All combine in rank order.

pub(crate) mod binomial;
pub(crate) mod chain;
pub(crate) mod doubling_123;
pub(crate) mod doubly_pipelined_tree;
pub(crate) mod leaders;
pub(crate) mod linear;
pub(crate) mod recursive_doubling;

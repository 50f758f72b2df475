//! Inclusive scans: rank r gets the combination of the inputs of ranks 0 to r. All combine in rank order.

pub(crate) mod binomial;
pub(crate) mod chain;
pub(crate) mod doubly_pipelined_tree;
pub(crate) mod hillis_steele;
pub(crate) mod leaders;
pub(crate) mod linear;
pub(crate) mod recursive_doubling;

//! Barrier algorithms: a chain of empty messages from every rank reaches every rank.

pub(crate) mod binary;
pub(crate) mod binomial;
pub(crate) mod dissemination;
pub(crate) mod double_ring;
pub(crate) mod leaders;
pub(crate) mod linear;
pub(crate) mod recursive_doubling;
mod up_and_down;

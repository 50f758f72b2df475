//! Gatherv algorithms that gathers do not have: every rank's input, which may have any length, reaches its part of the
//! root's output.

pub(crate) mod batched;
pub(crate) mod binomial;

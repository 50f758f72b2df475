//! Scatterv algorithms that scatters do not have: every rank's output gets its part, which may have any length, of the
//! root's input.

pub(crate) mod batched;
pub(crate) mod binomial;

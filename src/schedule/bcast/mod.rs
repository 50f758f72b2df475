//! Broadcast algorithms: the root's output reaches every rank's output.

pub(crate) mod binomial;
pub(crate) mod chain;

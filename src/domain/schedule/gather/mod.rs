//! Gather algorithms: every rank's input reaches its part of the root's output.

pub(crate) mod binary;
pub(crate) mod binary_chunked;
pub(crate) mod binary_repeated;
pub(crate) mod binary_streamed;
pub(crate) mod binomial;
mod chunking;
mod collecting;
pub(crate) mod knomial;
pub(crate) mod leaders;
pub(crate) mod linear;
pub(crate) mod linear_nonblocking;
pub(crate) mod linear_sync;
pub(crate) mod mst;
pub(crate) mod ring;
pub(crate) mod ring_accumulate;
pub(crate) mod ring_blocking;
pub(crate) mod star;
mod streaming;

//! Tests of the machine, the pipelining lemma and the predictions.

#![expect(clippy::unwrap_used, reason = "tests panic")]

mod machine;
mod pipeline;
mod predict;
mod questions;
mod simulate;

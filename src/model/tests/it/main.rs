//! Tests of the machine, the pipelining lemma and the predictions.

mod machine;
mod pipeline;
mod predict;
mod simulate;

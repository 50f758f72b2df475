//! Tests of the machine, the pipelining lemma and the predictions.

#![expect(clippy::unwrap_used, reason = "tests panic")]

mod findings;
mod machine;
mod machine_file;
mod pipeline;
mod predict;
mod questions;
mod simulate;

/// The code that generates the reports.
#[expect(
    dead_code,
    reason = "of pipelines, only what 288 ranks need is computed again"
)]
#[path = "../../examples/findings/study/mod.rs"]
mod study;

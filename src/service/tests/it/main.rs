//! Tests of the crate `service`.

#![expect(clippy::unwrap_used, reason = "tests panic")]

mod bed;
mod blobs;
mod publish;
mod queue;
mod releases;
mod versions;

//! Tests of the crate `service`.

#![expect(clippy::unwrap_used, reason = "tests panic")]

mod queue;

//! Tests of the crate `web`.

//! Tests of the crate `service`.

//! Tests of the crate `client`.

//! Tests of the opener.

#![expect(clippy::unwrap_used, reason = "tests")]

mod crash;
mod formats;

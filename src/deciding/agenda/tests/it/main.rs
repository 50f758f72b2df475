//! Integration tests of the crate `agenda`.

mod bench;
mod launches;
mod search;

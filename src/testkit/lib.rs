//! Shared code of the tests of several crates.

use std::env;

pub mod certificates;
mod examples;
pub mod fakes;
pub mod html;
pub mod mpi;
pub mod process;
mod requirements;
pub mod tables;
pub mod web;

pub use examples::commented_examples;
pub use requirements::require;

/// Whether tests do all of what they can: `scripts/test-long` sets the variable. Otherwise those that take long do a part,
/// which `make test` can wait for.
pub fn is_long() -> bool {
    env::var_os("COLLTUNE_LONG").is_some()
}

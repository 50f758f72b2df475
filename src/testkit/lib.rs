//! What the tests of several crates share.

mod examples;
pub mod fakes;
pub mod mpi;
pub mod process;
mod requirements;
pub mod tables;

pub use examples::examples;
pub use requirements::require;

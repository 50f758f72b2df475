//! Shared code of the tests of several crates.

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

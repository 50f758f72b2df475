//! What the tests of several crates share.

pub mod fakes;
pub mod html;
pub mod mpi;
pub mod process;
mod requirements;
pub mod tables;
pub mod web;

pub use requirements::require;

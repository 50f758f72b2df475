//! Schedules and the library's own collectives, executed on MPI.
//!
//! This crate alone speaks MPI's C interface, and it checks every return code. What is executed is
//! a [`Runner`]: the library's default, or a [`schedule::Schedule`] whose rounds are posted as the
//! cheapest MPI calls that fit: a lone send is `MPI_Send`, a send with a receive `MPI_Sendrecv`,
//! anything wider nonblocking with the local work in between.
//!
//! Nothing here prints or reads the environment.

mod api;
mod bytes;
mod communicator;
mod error;
mod executor;
mod kernel;
mod library;
mod runner;
mod steps;

pub use api::library_text;
pub use bytes::Bytes;
pub use communicator::{Communicator, Universe, exit_now};
pub use error::ExecError;
pub use executor::Executor;
pub use kernel::{Operands, combine};
pub use library::LibraryCall;
pub use runner::{Call, Runner};

//! Schedules and the library's own collectives, executed on MPI.
//!
//! This crate alone speaks MPI's C interface, and it checks every return code. What is measured is
//! a [`Runner`]: the library's default, one of its own algorithms forced through the tool interface,
//! a mock-up made of its other collectives, or a [`schedule::Schedule`] whose rounds are posted as
//! the cheapest MPI calls that fit: a lone send is `MPI_Send`, a send with a receive `MPI_Sendrecv`,
//! anything wider nonblocking with the local work in between. Large receives are posted a round
//! ahead where they disturb nothing. Messages between ranks of one node can go through [`NodeChannels`]
//! instead. What a library calls that takes the place of MPI is an
//! [`ApplicationCall`]: the same schedules on any memory, datatype and operator.
//!
//! Nothing here prints or reads the environment.

mod api;
mod application;
mod arguments;
mod bytes;
mod call;
mod channel_messages;
mod combiner;
mod communicator;
pub mod constants;
mod copier;
mod derived;
mod error;
mod exchange;
mod executor;
mod forward;
mod fused;
mod handle;
mod kernel;
mod library;
mod machine;
mod messages;
mod mockup;
mod native;
mod node_channels;
mod noncommutative;
mod raw;
mod requests;
mod runner;
mod settings;
mod staging;
mod steps;
mod tool;
mod transports;
mod unit;

pub use api::{check, is_running, library, library_text};
pub use application::ApplicationCall;
pub use arguments::{Arguments, Elements};
pub use bytes::Bytes;
pub use call::Call;
pub use channel_messages::ChannelMessages;
pub use communicator::{Communicator, Universe, exit_now};
pub use error::ExecError;
pub use executor::ScheduleExecutor;
pub use handle::{DatatypeHandle, OperatorHandle, is_named};
pub use kernel::{BuiltIn, Element, Kernel, Operands, combine, kernel};
pub use library::LibraryCall;
pub use mockup::MockupCall;
pub use native::{
    NativeCall, RulesInFiles, StartSettings, allow_forcing, change_environment, enabling_variables,
    natives, preset,
};
pub use node_channels::{NoChannels, NodeChannels};
pub use raw::RawCall;
pub use requests::{Wait, leaves_core};
pub use runner::{Runner, Turn};
pub use settings::control_variables;
pub use transports::transports;

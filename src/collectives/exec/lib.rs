//! Schedules and the library's own collectives, executed on MPI.
//!
//! All messages of schedules are sent and received here, and an error disables their communicator. Other crates call
//! MPI's C interface too: `runtime`, to attach to a program's communicators and to let their ranks agree, and `capi` and
//! `preload`, which define its functions.
//!
//! A measured candidate is a [`Runner`]: the library's default, one of its own algorithms forced through the tool
//! interface, a mock-up made of its other collectives, or a [`schedule::Schedule`]. The rounds of a schedule are carried
//! out by the cheapest suitable MPI calls: a single send by `MPI_Send`, a send with a receive by `MPI_Sendrecv`, and
//! anything wider by nonblocking calls with the local work in between. Large receives are posted a round ahead if that
//! is safe. Messages within a node can go through [`NodeChannels`] instead. An [`ApplicationCall`] runs the same
//! schedules on any memory, datatype and operator, for libraries that intercept MPI, also step by step ([`StartedCall`]):
//! each step ends where messages have not arrived yet, so that several calls are under way at the same time.
//!
//! Nothing here prints or reads the environment.
//!
//! # Where to read on
//!
//! - `executor.rs`: how rounds become MPI calls; `steps.rs`: how they are resolved to bytes; `exchange.rs`: messages of
//!   a round through channels.
//! - `application.rs`: the same for an application's buffers, datatypes and operators.
//! - `native.rs`: how the library's own algorithms are forced; `mockup.rs`: collectives made of its other ones.
//! - `machine.rs`: why the pointers are sound.

mod api;
mod application;
mod arguments;
mod block_steps;
mod blocks;
mod bytes;
mod call;
mod channel_messages;
mod combiner;
mod communicator;
pub mod constants;
mod copier;
mod counted;
mod derived;
mod error;
mod exchange;
mod executor;
mod forward;
mod fused;
mod handle;
mod irregular;
mod kernel;
mod library;
mod machine;
mod messages;
mod mockup;
mod native;
mod node_channels;
mod noncommutative;
mod pending;
mod raw;
mod raw_irregular;
mod requests;
mod runner;
mod settings;
mod staging;
mod steps;
mod tool;
mod transports;
mod unit;

pub use api::{
    check_code, identify_library, is_running, library_text, provided_thread_level, reports_to_world,
};
pub use application::{ApplicationCall, StartedCall};
pub use arguments::{Arguments, Elements};
pub use bytes::Bytes;
pub use call::Call;
pub use channel_messages::ChannelMessages;
pub use communicator::{Communicator, Universe, exit_now};
pub use error::ExecError;
pub use executor::ScheduleExecutor;
pub use forward::{redirect_collective, redirect_completion, redirect_creators, redirect_large};
pub use handle::{DatatypeHandle, OperatorHandle, is_named, size_of_datatype};
pub use irregular::{IrregularCall, IrregularShape};
pub use kernel::{BuiltIn, Element, Kernel, Operands, combine_vectors, find_kernel};
pub use library::LibraryCall;
pub use mockup::MockupCall;
pub use native::{
    Components, NativeCall, RulesInFiles, StartSettings, allow_forcing, change_environment,
    enabling_variables, list_natives, preset_natives, read_component_choices,
};
pub use node_channels::{NoChannels, NodeChannels};
pub use pending::PendingCall;
pub use raw::{GivenCounts, PartCounts, RawCall};
pub use raw_irregular::{RawBlocks, RawIrregularCall, RawTypes, SignificantBuffers};
pub use requests::{Wait, leaves_core};
pub use runner::{CountedCall, Runner, Turn};
pub use settings::control_variables;
pub use transports::reported_transports;

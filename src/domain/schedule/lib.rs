//! The language of collectives: every algorithm once, as a pure function.
//!
//! An [`Algorithm`] turns a [`Shape`] and a rank into that rank's [`Program`]: rounds of
//! independent [`Action`]s on symbolic spans of blocks. The same definition is executed on MPI,
//! proved correct ([`verify`]), run on real elements in one process ([`memory`]), counted
//! ([`Tally`]) and printed ([`text`]). This crate does no input or output and knows neither time
//! nor bytes: it counts *units*, which are elements in reductions and bytes in data movement. All
//! buffers of a call are pieces of one vector of units, the [`Layout`] says which.
//!
//! ```
//! use schedule::{Parameters, Request, Schedule, verify};
//!
//! let algorithm = schedule::find_algorithm("allreduce/dual_root").expect("registered");
//! let request = Request { units: 7, parameters: Parameters::with_blocks(3), ..Request::among_ranks(6) };
//! let schedule = Schedule::new(algorithm, &request)?;
//! let proof = verify::verify_schedule(&schedule)?;
//! assert!(proof.ordered);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # One definition, many readings
//!
//! An algorithm is a pure function from a shape (ranks, root, blocks, radix, nodes) and a rank to that rank's program
//! (`program.rs`). Everything else reads this one definition:
//!
//! - [`verify`] proves it: values are trees of combinations;
//! - [`memory`] runs it on real elements;
//! - [`Tally`] counts its messages, units, rounds and steps;
//! - [`timeline`] and [`svg`] show the messages of each round, [`text`] prints every action;
//! - [`export`] writes GOAL for LogGOPSim, and time-independent traces for SimGrid;
//! - the crate `exec` carries it out on MPI, and `model` simulates it.
//!
//! The first three share one engine (`engine.rs`), which is strict where MPI is lenient.
//!
//! # Where to read on
//!
//! - `collective.rs`: what a collective promises, stated once, by which all of its algorithms are judged.
//! - `vector.rs`, `span.rs`, `layout.rs`: the vector of a call, the pieces that an action names, and where they are in
//!   a rank's memory.
//! - `counts.rs`: irregular collectives, and which rank knows which lengths.
//! - `round.rs`: actions, rounds, and how messages are matched.
//! - `registry.rs`: how an algorithm is added. Each is one file in its collective's folder and one row.
//! - `nodes.rs`, `phases.rs`: which ranks share a node, and algorithms that know it.
//! - `bracketing.rs`: what the bits of a rounded sum depend on.
//! - `alike.rs`: schedules that are carried out in the same way. `translation.rs`: ranks that do the same.

mod alike;
mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod bcast;
mod bracketing;
mod collective;
mod cost;
mod counts;
mod engine;
pub mod export;
mod exscan;
mod fault;
mod gather;
mod gatherv;
mod granularity;
mod independence;
mod instance;
mod layout;
pub mod memory;
mod nodes;
mod parameters;
mod phases;
mod program;
mod reduce;
mod reduce_scatter;
mod registry;
mod round;
mod run;
mod scan;
mod scatter;
mod scatterv;
mod shape;
mod span;
mod storage;
pub mod svg;
pub mod text;
pub mod timeline;
mod translation;
mod tree;
mod vector;
pub mod verify;

pub use alike::{RESOLVED_ROUNDS, first_alike};
pub use bracketing::BracketedBy;
pub use collective::{Collective, Held, UnknownCollective};
pub use cost::{Cost, Exact, PipelineCost};
pub use counts::{Distribution, OwnCounts, SizeExchange};
pub use engine::Tally;
pub use fault::{Fault, Misdeed};
pub use granularity::have_same_messages;
pub use instance::{Request, Schedule, Unsupported};
pub use layout::{Layout, Place, Room};
pub use nodes::{Nodes, Placed};
pub use parameters::{Blocks, Parameter, Parameters};
pub use phases::{About, Among, Phase};
pub use program::Program;
pub use registry::{
    ALGORITHMS, Algorithm, algorithms_of, find_algorithm, find_by_former_name, part_algorithms_of,
};
pub use round::{Action, Round};
pub use run::Run;
pub use shape::{Parts, Rank, Shape};
pub use span::{BlockRange, Buffer, Partition, Span};
pub use translation::Translation;

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
//! let algorithm = schedule::find("allreduce/dual_root").expect("registered");
//! let request = Request { units: 7, parameters: Parameters::blocks(3), ..Request::ranks(6) };
//! let schedule = Schedule::new(algorithm, &request)?;
//! let proof = verify::verify(&schedule)?;
//! assert!(proof.ordered);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod alike;
mod allgather;
mod allreduce;
mod bcast;
mod collective;
mod cost;
mod engine;
pub mod export;
mod fault;
mod gather;
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
mod scatter;
mod shape;
mod span;
mod storage;
pub mod svg;
pub mod text;
pub mod timeline;
mod tree;
mod vector;
pub mod verify;

pub use alike::{RESOLVED_ROUNDS, first_alike};
pub use collective::{Collective, Held, UnknownCollective};
pub use cost::{Cost, Exact, PipelineCost};
pub use engine::Tally;
pub use fault::{Fault, Misdeed};
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

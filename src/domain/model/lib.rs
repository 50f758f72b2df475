//! The parameters of a machine, and the predicted times of algorithms on it.
//!
//! A message of `n` bytes takes `alpha + beta n` seconds, combining `n` bytes takes `gamma n`.
//! A [`Machine`] has these per [`Level`]; [`Pipeline`] is the pipelining lemma; [`predict()`] and [`predict_best`]
//! apply it to the constants of the algorithm registry. [`simulate()`] simulates a schedule of any shape on a machine;
//! [`simulate_traced`] also records where the time goes. Everything here is a pure function: times are in seconds,
//! sizes in bytes.
//!
//! ```
//! use model::{Call, Rates, predict_best};
//!
//! let algorithm = schedule::find_algorithm("allreduce/dual_root").expect("registered");
//! let rates = Rates { alpha: 1e-6, overhead: 1e-6, beta: 1e-9, gamma: Some(2e-10) };
//! let call = Call { ranks: 64, bytes: 1 << 20, unit_bytes: 8, ..Call::default() };
//! let best = predict_best(algorithm, rates, &call).expect("has a closed form");
//! assert!(best.blocks > 1 && best.seconds > 3.0 * 1e-9 * (1 << 20) as f64);
//! ```
//!
//! The rules of the simulator are at the top of `simulate/mod.rs`; `parts.rs` adds up the phases of algorithms that
//! know nodes. `machine_file/mod.rs` is about the text of machine files, which others read from files and write to them.

mod machine;
mod machine_file;
mod parts;
mod pipeline;
mod predict;
mod simulate;
mod validity;

pub use machine::{Cache, Level, Line, Link, Machine, Noise, PostAhead, Rates, Tiers};
pub use machine_file::MachineError;
pub use machine_file::needs::MachineNeeds;
pub use machine_file::write::{
    FittedMachine, NotedEstimate, ParameterFinding, ParameterNote, SegmentNote,
};
pub use pipeline::Pipeline;
pub use predict::{Call, Prediction, predict, predict_best, requested_blocks};
pub use simulate::{
    BestBlocks, BlocksBy, Event, ExpectedSize, GoOn, Labour, Message, Segment, Setting, Simulation,
    SimulationError, Topology, Trace, Work, best_blocks, best_blocks_while, expected_messages,
    expected_size, simulate, simulate_from, simulate_repeated, simulate_traced, simulate_while,
};
pub use validity::InvalidMachine;

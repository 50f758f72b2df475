//! A machine to measure without a machine: what carries out plans on the simulator.
//!
//! [`SimulatedLauncher`] takes the place of mpirun and the measuring program. It reads the same plan
//! and writes the same records into the same spool, so that everything before and behind, from the
//! campaign to the report, is what it is with MPI. A thread of the command does the work, and so
//! ends with the command.
//!
//! - The time of a call is that of [`model::simulate()`] for the very schedule that would be executed,
//!   disturbed by the [`model::Noise`] of the machine file. Experiments are closed forms of the
//!   simulator's rules, so that their messages cost what they cost in a schedule.
//! - Repeated calls are simulated one after the other, a rank that leaves one early beginning the next one
//!   early; skewed ones from each rank's own arrival.
//! - The library's own choice, `default`, is what MPICH's published thresholds choose
//!   (`library.yaml`).
//! - Time is that of the simulated machine: a task's elapsed seconds, and thereby what is spent of a
//!   budget, are what measuring would have taken there.
//! - The noise is drawn from the plan's seed, the task's round, the subject and the candidate: the same
//!   plan gives the same records, also if it is carried out in pieces.

mod disturbance;
mod executor;
mod experiments;
mod identity;
mod launcher;
mod rules;
mod session;
mod spool;
mod times;

pub use launcher::SimulatedLauncher;
pub use rules::RulesError;

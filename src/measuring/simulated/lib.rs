//! A simulated machine that carries out plans in place of a real one.
//!
//! [`SimulatedLauncher`] replaces mpirun and the measuring program. It reads the same plan and writes the same records
//! into the same spool, so all other stages, from the campaign to the report, are the same as with MPI. It runs in a
//! thread of the command, and so ends with the command.
//!
//! - The time of a call is that of [`model::simulate()`] for the schedule that would be executed, disturbed by the
//!   [`model::Noise`] of the machine file. Experiments are closed forms of the simulator's rules, so that their
//!   messages cost the same as in a schedule.
//! - Repeated calls are simulated one after the other, where a rank that finishes one early begins the next one early;
//!   skewed calls are simulated from each rank's arrival.
//! - The library's own choice, `default`, follows MPICH's published thresholds (`library.yaml`).
//! - Time is that of the simulated machine: a task's elapsed seconds, and so the spent part of a budget, are those that
//!   measuring would take there.
//! - The noise is drawn from the plan's seed, the task's round, the subject and the candidate: the same plan gives the
//!   same records, also if it is carried out in parts. The task's round is how often it has been measured, so an
//!   interrupted campaign gives the same samples as an undisturbed one, and the same table.

mod disturbance;
mod executor;
mod experiments;
mod identity;
mod launcher;
mod rules;
mod session;
mod times;

pub use launcher::SimulatedLauncher;
pub use rules::RulesError;

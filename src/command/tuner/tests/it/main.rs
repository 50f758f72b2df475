//! The loop, with a launcher that acts as the driver: without MPI, with any failure on demand.

mod alike;
mod batch;
mod budgets;
mod cluster;
mod confirm;
mod evaluate;
mod exports;
mod failures;
mod fake;
mod guided;
mod hydra;
mod import;
mod loops;
mod numerics;
mod operators;
mod poor_predictions;
mod recorded;
mod results;
mod verdicts;

//! The loop, with a launcher that plays the driver: no MPI, every mishap on demand.

mod alike;
mod batch;
mod cluster;
mod confirm;
mod evaluate;
mod exports;
mod fake;
mod guided;
mod hydra;
mod import;
mod loops;
mod mishaps;
mod operators;
mod poor_predictions;
mod results;
mod verdicts;

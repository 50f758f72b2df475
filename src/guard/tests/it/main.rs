//! Tables that are measured again: by scripts, and on simulated machines.

mod alternating;
mod confirm;
mod points;
mod power;
mod probes;
mod repair;
mod script;
mod simulation;
mod stages;

//! Launches leave nothing behind, on this machine and in jobs of batch systems.

mod batch;
mod command_lines;
mod hosts;
mod house;
mod launches;
mod libraries;

/// Cores of the machine that tests pretend to have.
const CORES: u32 = 4;

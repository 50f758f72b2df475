//! The service's queue with real child processes, which measure simulated machines.

mod kills;
mod process;

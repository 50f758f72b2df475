//! The service's queue with real children, which measure simulated machines.

mod kills;
mod process;

//! Exit codes of the driver. They stand clear of the small numbers that launchers and signals use.
//!
//! Launchers need not pass them on: MPICH's reports the code of one rank or the signal with which it
//! ended another. What must be known for sure is in the spool, or in a message on standard error.

/// Bad usage, or a plan that cannot be read.
pub const PLAN: i32 = 64;
/// The driver runs on another library than the plan's.
pub const LIBRARY: i32 = 65;
/// MPI or the spool file failed outside a candidate's turn.
pub const FAILED: i32 = 66;
/// A candidate hung; its failure is in the spool.
pub const HANG: i32 = 67;
/// MPI failed in a candidate's turn, beside the candidate's own call: the candidate is left out.
pub const TURN: i32 = 69;
/// The commanding process or the launcher is gone.
pub const ORPHANED: i32 = 68;

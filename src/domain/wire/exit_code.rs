//! Exit codes of the driver, outside the ranges that launchers and signals use.
//!
//! Launchers need not pass them on: MPICH's reports the code of one rank or the signal that ended another. Reliable
//! information is in the spool, or in a message on standard error.

/// Bad usage, or a plan that cannot be read.
pub const PLAN: i32 = 64;
/// The driver's library differs from the plan's.
pub const LIBRARY: i32 = 65;
/// MPI or the spool file failed outside a candidate's turn.
pub const FAILED: i32 = 66;
/// A candidate hung; its failure is in the spool.
pub const HANG: i32 = 67;
/// MPI failed in a candidate's turn, but not in the candidate's own call: the candidate is left out.
pub const TURN: i32 = 69;
/// The commanding process or the launcher has ended.
pub const ORPHANED: i32 = 68;
/// Fewer ranks or nodes were started than the plan needs; no candidate had a turn.
pub const START: i32 = 70;

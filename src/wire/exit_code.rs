//! Exit codes of the driver. They stand clear of the small numbers that launchers and signals use.

/// Bad usage, or a plan that cannot be read.
pub const PLAN: i32 = 64;
/// The driver runs on another library than the plan's.
pub const LIBRARY: i32 = 65;
/// MPI or the spool file failed outside a candidate's turn.
pub const FAILED: i32 = 66;
/// A candidate hung; its failure is in the spool.
pub const HANG: i32 = 67;
/// The commanding process or the launcher is gone.
pub const ORPHANED: i32 = 68;

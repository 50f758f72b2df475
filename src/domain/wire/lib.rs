//! The protocol between the command line and the measuring driver.
//!
//! The input is a [`Plan`], as one JSON file; the output is [`Record`]s, as JSON lines appended to the spool file that
//! the plan names. Nothing else passes between the two, so a simulated backend that writes the same records can replace
//! MPI. Times are in seconds, sizes in bytes.

pub mod exit_code;
mod plan;
mod record;

pub use plan::{Plan, PlannedTask, PlannedWork, SwitchVariables};
pub use record::{
    ColdCaches, Environment, FailureKind, FailureRecord, Finish, LaunchStart, Measurement,
    RankClock, Record, Shares, TaskDone, TimeBreakdown,
};

/// The environment variable that gives ranks the launcher's command line.
pub const LAUNCHER_VARIABLE: &str = "COLLTUNE_LAUNCHER";

/// The environment variable that gives the time at which a batch job ends, in whole seconds since 1970: no task is
/// begun later.
pub const UNTIL_VARIABLE: &str = "COLLTUNE_UNTIL";

/// The environment variable that lists, separated by commas, the variables about rules files that the launch itself
/// sets. All other such variables are the site's, and are removed.
pub const RULES_VARIABLE: &str = "COLLTUNE_RULES";

/// The environment variable that lists, a line each as `NAME=value`, the variables of a site that a launcher has removed,
/// since the library would have read them before a program could.
pub const REMOVED_VARIABLE: &str = "COLLTUNE_REMOVED";

/// The version of the plan and record formats; a driver refuses a plan of another version.
pub const WIRE_VERSION: u32 = 11;

//! What the command line and the measuring driver tell each other.
//!
//! A [`Plan`] goes in as one JSON file; [`Record`]s come back as JSON lines appended to the spool
//! file that the plan names. Nothing else passes between the two, so a simulated backend that
//! speaks the same records can stand in for MPI. Times are seconds, sizes are bytes.

pub mod exit_code;
mod plan;
mod record;

pub use plan::{Plan, PlannedTask, PlannedWork, SwitchVariables};
pub use record::{
    ColdCaches, Environment, FailureKind, FailureRecord, Finish, LaunchStart, Measurement,
    RankClock, Record, Shares, TaskDone, TimeBreakdown,
};

/// The environment variable by which ranks learn how they were started: the launcher's command line.
pub const LAUNCHER_VARIABLE: &str = "COLLTUNE_LAUNCHER";

/// The environment variable by which jobs of batch systems say when their time is over, in whole seconds
/// since 1970: no task is begun later.
pub const UNTIL_VARIABLE: &str = "COLLTUNE_UNTIL";

/// The environment variable that lists, separated by commas, the variables about files of rules that the launch
/// itself sets. All other such variables are the site's, and are set aside.
pub const RULES_VARIABLE: &str = "COLLTUNE_RULES";

/// The version of the plan and record formats; a driver refuses a plan of another version.
pub const WIRE_VERSION: u32 = 10;

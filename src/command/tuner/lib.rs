//! The loop that joins all stages: plan, launch, collect, fit, decide, write.
//!
//! ```text
//! MeasurementContext  a campaign with the library, launcher and driver found on this machine
//! Agenda              the measurements that a campaign asks for, and those that a store lacks
//! measure             launches the driver until the agenda is done or the budget is spent
//! CampaignAnalysis    all results of a store's samples: fits, decisions, table, report
//! ```
//!
//! This crate does not know terminals: it reports events to an [`Observer`], and a flag asks it to stop.

mod agenda;
mod analysis;
mod confirming;
mod context;
mod doctor;
mod error;
mod explain;
mod exports;
mod file;
mod forecast;
mod guided;
mod jobs;
mod launch;
mod launch_state;
mod least_budgets;
mod machine;
mod machine_file;
mod measure;
mod node_request;
mod observer;
mod origin;
mod recorded;
mod scripts;
mod steering;
mod store_location;
mod tune;
mod verdicts;
mod view;

pub use agenda::{Agenda, CampaignProgress, Merged};
pub use analysis::{CampaignAnalysis, Deciding};
pub use context::{MeasurementContext, SearchPaths};
pub use doctor::{Diagnosis, DriverFound, LibrarySetting, UnusableLauncher, diagnose};
pub use error::TunerError;
pub use explain::explain;
pub use exports::{
    Export, NoExport, export_beside, export_path, remarks, render_export, text_beside, text_path,
    write_export,
};
pub use file::{Named, keep_apart, probe, write};
pub use forecast::{Forecast, forget_failures};
pub use jobs::{Cancelled, JobRow, cancel, jobs};
pub use launch_state::LaunchState;
pub use least_budgets::{ExpectedTimes, LeastBudgets, least_budgets};
pub use machine::{MachineError, load_machine};
pub use measure::{Measured, SubmittedJob, SubmittedLaunch, measure, measure_cells, submit};
pub use observer::{Observer, Silent, TuningEvent};
pub use origin::SampleOrigin;
pub use recorded::as_recorded;
pub use scripts::{Script, scripts};

pub use steering::SettingEffect;
pub use store_location::{StateDirs, store_file};
pub use tune::{Tuned, check_outputs, conclude, tune, written_before};
pub use verdicts::{StoredVerdicts, add_stored_verdicts};

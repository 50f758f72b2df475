//! The loop: plan, launch, collect, fit, decide, write; the one place that joins the stages.
//!
//! ```text
//! MeasurementContext: what a campaign finds on this machine: library, launcher, driver
//! Agenda ───── what the campaign asks for, and what of it a store lacks
//! measure ──── launches the driver until the agenda is done or the budget spent
//! Analysis ─── everything that follows from a store's samples: fits, decisions, table, report
//! ```
//!
//! Nothing here knows terminals: what happens is told to an [`Observer`], and a stop is asked for
//! through a flag.

mod agenda;
mod allotment;
mod analysis;
mod confirming;
mod doctor;
mod error;
mod explain;
mod exports;
mod file;
mod forecast;
mod guided;
mod identity;
mod jobs;
mod launch;
mod machine;
mod machine_file;
mod measure;
mod observer;
mod order;
mod origin;
mod scripts;
mod store_location;
mod tune;
mod verdicts;
mod view;
mod workplace;

pub use agenda::{Agenda, CampaignProgress, Merged};
pub use analysis::{CampaignAnalysis, Deciding};
pub use doctor::{Diagnosis, DriverFound, LibrarySetting, diagnose};
pub use error::TunerError;
pub use explain::explain;
pub use exports::{
    Export, export_beside, export_path, remarks, render_export, text_beside, text_path,
    write_export,
};
pub use file::{Named, keep_apart, probe, write};
pub use forecast::{Forecast, forget_failures};
pub use jobs::{Cancelled, JobRow, cancel, jobs};
pub use machine::{MachineError, load_machine, parse_machine};
pub use measure::{Measured, SubmittedJob, SubmittedLaunch, measure, measure_cells, submit};
pub use observer::{Observer, Silent, TuningEvent};
pub use origin::SampleOrigin;
pub use scripts::{Script, scripts};
pub use store_location::{StateDirs, store_file};
pub use tune::{Tuned, check_outputs, conclude, tune, written_before};
pub use workplace::{MeasurementContext, SearchPaths};

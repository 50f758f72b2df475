//! The loop that joins all stages: plan, launch, collect, fit, decide, write.
//!
//! ```text
//! MeasurementContext  a campaign with the library, launcher and driver found on this machine
//! History             what a store has, as the agenda takes it
//! measure             launches the driver until the agenda is done or the budget is spent
//! CampaignAnalysis    all results of a store's samples: fits, decisions, table, report
//! ```
//!
//! This crate does not know terminals: it reports events to an [`Observer`], and a flag asks it to stop.
//!
//! # How a measurement travels
//!
//! 1. The store is read once before each launch (`history.rs`). What is left to measure follows from that alone
//!    ([`agenda::Agenda`]); the next launch becomes a plan for the driver (`measure.rs`).
//! 2. The launcher starts the driver, or a thread takes its place (`launch.rs`). Before anything of a launch is stored,
//!    its ranks are compared with what was asked for (`launch/start.rs`).
//! 3. The spool is followed, and each line is stored in a transaction (`launch/follow.rs`). After a kill at any moment,
//!    the next start reads the rest of the spool and continues (`measure/recover.rs`).
//! 4. The cause of a launch's end is found (`launch/judge.rs`), and what follows from it (`measure/conclude.rs`).
//! 5. Everything else is computed from the samples, each time (`analysis.rs`): summaries, fits, decisions, table and
//!    report are the same, bit for bit, for the same store.

mod analysis;
mod audit;
mod context;
mod doctor;
mod error;
mod explain;
mod exports;
mod file;
mod forget;
mod gain;
mod history;
mod jobs;
mod launch;
mod launch_state;
mod least_budgets;
mod machine;
mod measure;
mod node_request;
mod observer;
mod origin;
mod overlap;
mod recorded;
mod scripts;
mod site_rules;
mod steering;
mod store_location;
mod tune;
mod verdicts;
mod view;

pub use analysis::{CampaignAnalysis, DecisionOverrides};
pub use audit::{
    AuditError, AuditReport, AuditRequest, AuditedFinding, AuditedSource, audit_settings,
    find_measurable_library, known_formats,
};
pub use context::{MeasurementContext, SearchPaths};
pub use doctor::{
    Diagnosis, DriverFound, LibrarySetting, UnknownDriverFound, UnusableLauncher, diagnose_machine,
};
pub use error::TunerError;
pub use explain::explain_decision;
pub use exports::{
    Export, NoExport, companion_path, export_beside, export_path, export_remarks, render_export,
    write_export, written_companion_path,
};
pub use file::{NamedFile, check_outputs_differ, probe_outputs, write_bytes, write_text};
pub use forget::forget_failures;
pub use gain::{
    Agreement, CallGain, ComparedCalls, ComparedSaving, DeploymentGain, Gain, IntervalSource,
    JobPair, MeasuredGain, MeasuredSaving, NotCovered, compare_with_measured, predict_gain,
    predict_traffic_gain,
};
pub use history::read_history;
pub use jobs::{Cancelled, JobRow, cancel_jobs, list_jobs};
pub use least_budgets::least_budgets;
pub use machine::load_machine;
pub use measure::{measure_campaign, measure_cells, submit_next_launch};
pub use observer::{Observer, Silent};
pub use origin::SampleOrigin;
pub use overlap::HiddenShare;
pub use recorded::with_recorded_defaults;
pub use scripts::{Script, render_job_scripts};

pub use site_rules::{
    ImportedRules, SiteFile, SiteRulesError, SiteRulesRequest, import_site_rules,
    known_rules_formats,
};
pub use steering::SettingEffect;
pub use store_location::{StateDirs, store_file};
pub use tune::{Tuned, check_outputs, decide_and_write, load_replaced_table, tune_campaign};
pub use verdicts::{StoredVerdicts, add_stored_verdicts};
pub use view::{EvidenceRemark, ReportedTable, table_view};

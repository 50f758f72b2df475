//! What one part of the program writes as JSON and another one reads: a key that both do not have is a compile error.
//!
//! The command line prints events ([`TuningEvent`]) and outcomes; the service reads those of its tasks, keeps them, and
//! passes them on to pages and programs. Everything that a reader does not need passes unchanged ([`PrintedEvent`]).
//!
//! A reader ignores keys that it does not know, since the writer may be a later version, and a key that it lacks has the
//! value that says nothing, since what is stored may be from an earlier one.

mod events;
mod jobs;
mod outcomes;

pub use events::{LastLine, OutputLine, PrintedEvent, TuningEvent};
pub use jobs::{JobStateName, LaunchState, Measured, SubmittedJob, SubmittedLaunch};
pub use outcomes::{
    CheckFindings, CheckedPoints, JudgementCounts, MeasuredDeployment, PointVerdict, ReportOutcome,
    Speedups, TableVerdict, TuneFindings, TunedFiles, ValidateFindings, ValidatedPoints,
    without_points,
};

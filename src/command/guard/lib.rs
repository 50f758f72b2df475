//! Tests of tables in use: the speed-up that a table gives ([`validate_table()`]), and whether its decisions still
//! hold ([`check_table()`]). Either can time a whole program instead of single points ([`time_program()`]).
//!
//! ```text
//! Point ────── a size at which an entry of the table decides; those with most at stake come first
//! Probing ──── the number of probes: points drawn at random between the sizes that were measured for the table
//! Sources ──── campaign and store of the table: the user's own, never another's
//! TestSetup ── launcher and library of the table, with a temporary store
//! TestCaller ─ who starts a test: it passes warnings on and watches the launches
//! Measurer ─── measures points: with or without an exported file, or from a script in tests
//! SiteLines ── the points at which lines of a site's file decide
//! Validated ┐
//! Checked ──┴─ results: suspects from the first launches, confirmed or not by further ones
//! ```
//!
//! Both tests have two stages. A few launches measure all points and select suspects. Only suspects are measured again,
//! in the number of launches that a test of all of them needs. These launches alone decide, by sign tests with Holm's
//! correction: the probability of any false alarm in the whole run is at most 5 %, however suspects were selected.
//!
//! Points are measured by the tuner's own loop, as an agenda of given cells and candidates, into a temporary store; the
//! conditions are those of the table's campaign. The statistics do not depend on how launches are made (`measurer.rs`).
//! Where the interval at a point includes a material loss, nothing is shown, and there is no verdict.

mod activation;
mod alternating;
mod caller;
mod campaign_sizes;
mod check;
mod check_table;
mod error;
mod measurer;
mod own_choices;
mod point;
mod probes;
mod program;
mod repair;
mod rivals;
mod setup;
mod site_lines;
mod sources;
mod suspects;
mod validate;
mod validate_table;

pub use activation::Activation;
pub use alternating::AlternatingMeasurer;
pub use caller::{LaunchWatch, TestCaller, TestWarning};
pub use check::{
    Baseline, CheckOptions, CheckVerdict, Checked, CheckedPoint, Finding, PointState, check_points,
};
pub use check_table::{CheckOutcome, CheckRequest, check_table};
pub use error::GuardError;
pub use measurer::{FailedCandidate, LaunchMeasurer, LaunchTimes, Measurer, Misplaced, TestedOn};
pub use point::{Point, PointKind, table_points};
pub use probes::{Probing, add_probes};
pub use program::{
    FEWEST_PAIRS, ProgramFailure, ProgramGain, ProgramRun, ProgramRunner, ProgramVariant,
    ProgramVerdict, RunResult, TimedProgram, TimingPlan, time_program,
};
pub use repair::{
    Circumstances, ConfirmedRange, confirm_rules, count_unconfirmed_rules, keep_verdicts,
};
pub use rivals::Rivals;
pub use setup::{TestSetup, TestSetupOptions};
pub use site_lines::{
    JudgedLine, LineOptions, LineVerdict, MeasuredLines, SiteLines, campaign_of_lines,
    measure_lines,
};
pub use sources::{NamedSources, Sources, TableStore};
pub use suspects::{LEVEL, fewest_launches};
pub use validate::{
    Judgement, NoTimes, SpeedupSummary, ValidateOptions, Validated, ValidatedPoint, validate_points,
};
pub use validate_table::{
    TableChanges, TableFile, TableUse, ValidateOutcome, ValidateRequest, validate_table,
};

//! Tables that are in use: what one is worth ([`validate()`]), and whether it still holds ([`check()`]).
//!
//! ```text
//! Point ────── a size at which an entry of the table decides, most at stake first
//! Probe ────── a point that was drawn at random between the sizes that were measured for the table
//! TestSetup ── launcher and library of the table, with a temporary store
//! Measurer ─── launches points: in a test setup, with an exported file in place or not, or in a test
//! Verdicts ─── what launches say: suspects of the first ones, confirmed or not by further ones
//! ```
//!
//! Both questions are answered in two stages. A few launches measure all points and name suspects.
//! Suspects alone are measured again, in as many further launches as a test of all suspects needs,
//! and these launches alone decide: sign tests on launches with Holm's correction, so that all is well and
//! something is found with a probability of 5 % at most, over the whole run. As the first launches play no
//! part in the second stage, it does not matter how suspects were chosen.

mod alternating;
mod check;
mod deployed;
mod error;
mod measurer;
mod point;
mod probes;
mod repair;
mod rivals;
mod site;
mod suspects;
mod validate;

pub use alternating::Alternating;
pub use check::{Baseline, CheckOptions, Checked, CheckedPoint, Finding, check};
pub use deployed::Activation;
pub use error::GuardError;
pub use measurer::{FailedCandidate, Launches, Measurer, Misplaced, Times};
pub use point::{Point, PointKind, points};
pub use probes::{Probing, add_probes};
pub use repair::{Circumstances, Confirmed, confirm, keep, unconfirmed};
pub use rivals::Rivals;
pub use site::{TestSetup, TestSetupOptions, campaign_of};
pub use suspects::LEVEL;
pub use validate::{
    Judgement, Silence, SpeedupSummary, ValidateOptions, Validated, ValidatedPoint, validate,
};

//! What decisions are worth at points that they were not made on.

use std::fmt;

use schedule::Collective;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use statistics::Interval;
use thiserror::Error;
use vocabulary::{Candidate, Cell};

use crate::{At, at, by_name};

/// The regret of a method at points that it has not seen.
///
/// Regret is how much longer the choice takes than the best candidate measured at the point, as a
/// share of the latter, by median times.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Score {
    /// The method.
    pub method: Method,
    /// Points at which what it chose was measured, so that its regret is known.
    pub points: usize,
    /// Mean regret, as a share; null if there is no such point, as all that follows.
    pub mean: Option<f64>,
    /// Median regret.
    pub median: Option<f64>,
    /// Where the regret is largest.
    #[serde(flatten, serialize_with = "with_maximum")]
    #[schemars(with = "Maximum<'static>")]
    pub worst: Option<Worst>,
    /// Share of the points with a regret of 5 % or less.
    #[serde(rename = "within_5_percent")]
    pub within: Option<f64>,
    /// Mean regret at all points, held out or not; known where sizes are held out.
    pub mean_everywhere: Option<f64>,
}

/// The regret that counts as good, as a share.
pub const WITHIN: f64 = 0.05;

/// A choice that was wrong.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Worst {
    /// Where.
    #[serde(flatten, serialize_with = "at")]
    #[schemars(with = "At")]
    pub cell: Cell,
    /// Full name of what was chosen.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "String")]
    pub chosen: Candidate,
    /// Its regret.
    pub regret: f64,
}

/// How the methods do at points of one sort.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct SplitScores {
    /// What was held out.
    pub held_out: HeldOut,
    /// The collective; null for all together.
    #[serde(serialize_with = "collective_name")]
    #[schemars(with = "Option<String>")]
    pub collective: Option<Collective>,
    /// Points held out.
    pub points: usize,
    /// Points decided on, where sizes are held out; each shape has its own.
    pub decided_on: Option<usize>,
    /// One entry for each method, baselines first.
    #[serde(rename = "methods")]
    pub scores: Vec<Score>,
    /// Log-log interpolation and the table at the points at which the regrets of both are known.
    pub common: Option<Common>,
    /// The points at which colltune's table loses to another method, with most regret over it first.
    pub losses: Vec<Loss>,
}

/// Mean regrets at the same points.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Common {
    /// How many points they are.
    pub points: usize,
    /// The regret of log-log interpolation.
    pub log_log: f64,
    /// The regret of the table.
    pub table: f64,
    /// The interval in which 95 % of the differences lie, the table's mean minus that of log-log interpolation, when
    /// launches are drawn anew from those that there are: the same ones decide and judge. Null with fewer than 6
    /// launches, or if it would take long.
    pub difference: Option<Interval>,
}

impl Common {
    /// The methods that are compared.
    pub const METHODS: [Method; 2] = [Method::LogLog, Method::Table];
}

/// A point at which the table's choice costs more than that of a simpler method, by more than 5 %.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Loss {
    /// What the table chose.
    #[serde(flatten)]
    pub table: Worst,
    /// The simpler method with the least regret: `default`, `nearest_lower`, `nearest` or `log_log`.
    pub method: Method,
    /// Full name of what it chose.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "String")]
    pub better: Candidate,
    /// Its regret.
    pub better_regret: f64,
    /// Why.
    pub reason: Reason,
}

/// Why a table loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// No two measured shapes enclose the shape: the rules of the nearest were used.
    #[error(
        "no two measured shapes of its kind enclose this one, and the rules of the nearest were used"
    )]
    NotEnclosed,
    /// The default was chosen, and takes longer than its neighbours tell.
    #[error("the default takes longer than at its neighbours: it does something else here")]
    DefaultChanges,
    /// The candidate that was chosen takes longer than its neighbours tell.
    #[error("what was chosen takes longer than its times at the neighbours tell")]
    Slower,
    /// Interpolated times favour the other one too.
    #[error("what is faster here was not certain, or not by enough, where it was measured")]
    Uncertain,
    /// The other one is faster than its neighbours tell.
    #[error("what is faster here takes less than its times at the neighbours tell")]
    Unexpected,
}

#[derive(JsonSchema, Serialize)]
struct Maximum<'a> {
    /// The largest regret, as a share.
    maximum: Option<f64>,
    /// Where the regret is largest.
    worst: &'a Option<Worst>,
}

fn with_maximum<S: Serializer>(worst: &Option<Worst>, to: S) -> Result<S::Ok, S::Error> {
    let maximum = worst.as_ref().map(|worst| worst.regret);
    Maximum { maximum, worst }.serialize(to)
}

fn collective_name<S: Serializer>(of: &Option<Collective>, to: S) -> Result<S::Ok, S::Error> {
    of.map(Collective::name).serialize(to)
}

/// What was held out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldOut {
    /// Every second size of each shape, without the smallest and the largest.
    Sizes,
    /// Each shape in turn that has measured shapes on both sides: fewer and more nodes with as many
    /// ranks on each, or fewer and more ranks a node on as many nodes.
    Shapes,
    /// Everything: the decisions come from other measurements.
    All,
}

/// A way to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The library's default.
    Default,
    /// For each collective, datatype and operator the one candidate with the lowest mean regret where
    /// decisions are made, of those measured at most of these points.
    BestSingle,
    /// The fastest candidate at the next lower size; in the shape that tables take.
    NearestLower,
    /// The fastest candidate at the nearest size by ratio; in the shape that tables take that do not interpolate.
    Nearest,
    /// The fastest by straight lines: one `alpha` and `beta` for each candidate and shape.
    StraightLines,
    /// The fastest by interpolation on logarithmic scales.
    LogLog,
    /// The fastest by the fits of candidates: interpolation or protocol segments, whichever has less regret at
    /// sizes left out of the training.
    Model,
    /// What the table says that colltune makes.
    Table,
}

impl Method {
    /// All, baselines first.
    pub const ALL: [Self; 8] = [
        Self::Default,
        Self::BestSingle,
        Self::NearestLower,
        Self::Nearest,
        Self::StraightLines,
        Self::LogLog,
        Self::Model,
        Self::Table,
    ];
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Default => "library default",
            Self::BestSingle => "best single candidate",
            Self::NearestLower => "nearest lower size",
            Self::Nearest => "nearest size",
            Self::StraightLines => "straight lines",
            Self::LogLog => "log-log interpolation",
            Self::Model => "fits of candidates",
            Self::Table => "colltune's table",
        })
    }
}

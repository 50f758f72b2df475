//! Regrets of decisions at points that they were not made from.

use std::fmt;

use schedule::Collective;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use statistics::Interval;
use thiserror::Error;
use vocabulary::{Candidate, Cell};

use crate::{CellPlace, by_name, serialize_place};

/// The regret of a method at points that it was not given.
///
/// Regret is the extra median time of the choice over that of the best candidate measured at the point, as a share of
/// the latter.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Score {
    /// The method.
    pub method: Method,
    /// The number of points at which its choice was measured, so that the regret is known.
    pub points: usize,
    /// Mean regret, as a share; this and all that follows is null if there is no such point.
    pub mean: Option<f64>,
    /// Median regret.
    pub median: Option<f64>,
    /// The point with the largest regret.
    #[serde(flatten, serialize_with = "with_maximum")]
    #[schemars(with = "Maximum<'static>")]
    pub worst: Option<Worst>,
    /// Share of the points with a regret of 5 % or less.
    #[serde(rename = "within_5_percent")]
    pub within: Option<f64>,
    /// Mean regret at all points, held out or not; known if sizes are held out.
    pub mean_everywhere: Option<f64>,
}

/// The largest regret that counts as good, as a share.
pub const WITHIN: f64 = 0.05;

/// A wrong choice.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Worst {
    /// The cell.
    #[serde(flatten, serialize_with = "serialize_place")]
    #[schemars(with = "CellPlace")]
    pub cell: Cell,
    /// Full name of the chosen candidate.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "String")]
    pub chosen: Candidate,
    /// Its regret, as a share.
    pub regret: f64,
}

/// The scores of all methods at the points held out in one way.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct SplitScores {
    /// The points held out.
    pub held_out: HeldOut,
    /// The collective; null for all together.
    #[serde(serialize_with = "collective_name")]
    #[schemars(with = "Option<String>")]
    pub collective: Option<Collective>,
    /// The number of points held out.
    pub points: usize,
    /// The number of points that decisions were made from, if sizes are held out; each held-out shape has its own.
    pub decided_on: Option<usize>,
    /// One entry for each method, baselines first.
    #[serde(rename = "methods")]
    pub scores: Vec<Score>,
    /// Log-log interpolation and the table, at the points at which the regrets of both are known.
    pub common: Option<Common>,
    /// The points at which colltune's table loses to another method, the largest difference of regrets first.
    pub losses: Vec<Loss>,
}

/// Mean regrets of two methods at the same points.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Common {
    /// The number of points.
    pub points: usize,
    /// The mean regret of log-log interpolation.
    pub log_log: f64,
    /// The mean regret of the table.
    pub table: f64,
    /// The 95 % bootstrap interval of the table's mean minus that of log-log interpolation, over launches: each
    /// resample both decides and judges. Null with fewer than 6 launches, or if it would take too long.
    pub difference: Option<Interval>,
}

impl Common {
    /// The methods that are compared.
    pub const METHODS: [Method; 2] = [Method::LogLog, Method::Table];
}

/// A point at which the table's choice takes over 5 % longer than that of a simpler method.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Loss {
    /// The table's choice.
    #[serde(flatten)]
    pub table: Worst,
    /// The simpler method with the least regret: `default`, `nearest_lower`, `nearest` or `log_log`.
    pub method: Method,
    /// Full name of the candidate that the simpler method chose.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "String")]
    pub better: Candidate,
    /// Its regret, as a share.
    pub better_regret: f64,
    /// The reason why the table loses.
    pub reason: Reason,
}

/// The reason why a table loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// No two measured shapes enclose the shape, so the rules of the nearest were used.
    #[error(
        "no two measured shapes of its kind enclose this one, so the rules of the nearest were used"
    )]
    NotEnclosed,
    /// The default was chosen, and takes longer than its times at the neighbouring points suggest.
    #[error(
        "the default takes longer than its times at the neighbours suggest: it changes its algorithm here"
    )]
    DefaultChanges,
    /// The chosen candidate takes longer than its times at the neighbouring points suggest.
    #[error("the chosen candidate takes longer than its times at the neighbours suggest")]
    Slower,
    /// Interpolated times favour the better candidate too.
    #[error(
        "the faster candidate did not beat the default certainly, or by enough, where it was measured"
    )]
    Uncertain,
    /// The better candidate takes less time than its times at the neighbouring points suggest.
    #[error("the faster candidate takes less time than its times at the neighbours suggest")]
    Unexpected,
}

#[derive(JsonSchema, Serialize)]
struct Maximum<'a> {
    /// The largest regret, as a share.
    maximum: Option<f64>,
    /// The point with the largest regret.
    worst: &'a Option<Worst>,
}

fn with_maximum<S: Serializer>(worst: &Option<Worst>, to: S) -> Result<S::Ok, S::Error> {
    let maximum = worst.as_ref().map(|worst| worst.regret);
    Maximum { maximum, worst }.serialize(to)
}

fn collective_name<S: Serializer>(of: &Option<Collective>, to: S) -> Result<S::Ok, S::Error> {
    of.map(Collective::name).serialize(to)
}

/// The points that are held out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldOut {
    /// Every second size of each shape, except the smallest and the largest.
    Sizes,
    /// Each shape in turn that lies between two measured shapes: with fewer and more nodes and the same number of ranks
    /// per node, or with fewer and more ranks per node and the same number of nodes.
    Shapes,
    /// All points: the decisions come from other measurements.
    All,
}

/// A method of choosing candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The library's default.
    Default,
    /// For each collective, datatype and operator, the candidate with the lowest mean regret at the points decided on,
    /// among those measured at most of these points.
    BestSingle,
    /// The fastest candidate at the next lower size, in the shape that a table without interpolation would use.
    NearestLower,
    /// The fastest candidate at the nearest size by ratio, in the shape that a table without interpolation would use.
    Nearest,
    /// The fastest candidate by straight lines: one `alpha` and `beta` for each candidate and shape.
    StraightLines,
    /// The fastest candidate by interpolation on logarithmic scales.
    LogLog,
    /// The fastest candidate by fitted curves: interpolation or protocol segments, whichever has less regret at sizes
    /// left out of the fit.
    Model,
    /// The choice of colltune's table.
    Table,
}

impl Method {
    /// All methods, baselines first.
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

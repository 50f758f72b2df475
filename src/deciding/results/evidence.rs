//! The evidence behind a decision.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use statistics::Interval;
use table::DecisionJson;
use vocabulary::Pattern;
use wire::Shares;

use crate::{OftenInvalid, Ranked};

/// The decision of a table for one query and its evidence, as printed by `colltune explain --json`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Explanation {
    /// The decision.
    pub decision: DecisionJson,
    /// The measurements at the nearest sizes: at most one size at or below the query's and one above. Empty without
    /// the store.
    pub evidence: Vec<Evidence>,
    /// The pattern of calls of the measurements that the table was made from.
    pub pattern: Pattern,
    /// The way in which ranks were given common starts in all measurements of the store, as a clause; null if unknown.
    pub common_starts: Option<String>,
    /// A clause saying that caches held none of the data of calls; null if they may have held some.
    pub cold_cache: Option<String>,
    /// The shares of measuring time in all measurements of the store; null if unknown.
    pub measuring_time: Option<Shares>,
    /// The store with the evidence; null if only the table was read.
    pub store: Option<PathBuf>,
    /// The reason why there is no evidence from the store.
    pub no_evidence: Option<String>,
    /// A clause saying that the store's measurements are not those that the table was made from, and which candidate
    /// they lead to; null if they are the same.
    pub disagreement: Option<String>,
}

/// The measurements in one cell.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Evidence {
    /// Size of the call in bytes.
    pub bytes: u64,
    /// The distribution of the data of an irregular collective; null for others.
    pub distribution: Option<String>,
    /// The full name of the chosen candidate.
    pub chosen: String,
    /// The reason, as a sentence without a full stop.
    pub why: String,
    /// The full name of the best other candidate that was measured in enough launches; null if there is none.
    pub best_other: Option<String>,
    /// The extra time of the best other candidate over the chosen one, as a share; negative if it is faster. It follows
    /// from the speed-ups over the default, which are paired within launches.
    pub margin: Option<f64>,
    /// The interval of that share; null if neither of the two is the default, since no launch need have measured both.
    pub margin_interval: Option<Interval>,
    /// The candidates, fastest first; speed-ups are rounded as in tables.
    pub ranking: Vec<Ranked>,
    /// Candidates that are not ranked because none of their repetitions is valid.
    pub never_valid: Vec<OftenInvalid>,
}

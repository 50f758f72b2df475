//! The evidence behind a decision.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use table::DecisionJson;
use vocabulary::Pattern;
use wire::Shares;

use crate::{OftenInvalid, Ranked};

/// Why a table decides as it does for one query: what `colltune explain --json` prints.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Explanation {
    /// The decision.
    pub decision: DecisionJson,
    /// What was measured at the nearest sizes: at most one below or at the query's size and one
    /// above. Empty if the store is not at hand.
    pub evidence: Vec<Evidence>,
    /// How the calls followed each other that the table was made from.
    pub pattern: Pattern,
    /// How ranks came to common starts in all that the store holds, as a clause; null if unknown.
    #[serde(rename = "common_starts")]
    pub starts: Option<String>,
    /// A clause that says that calls found nothing in caches; null where they might have.
    #[serde(rename = "cold_cache")]
    pub cold: Option<String>,
    /// Where measuring time went, in all that the store holds; null if unknown.
    #[serde(rename = "measuring_time")]
    pub shares: Option<Shares>,
    /// The store that the evidence is from; null if only the table spoke.
    pub store: Option<PathBuf>,
    /// Why the store could not speak.
    #[serde(rename = "no_evidence")]
    pub silence: Option<String>,
    /// How the store's measurements would be decided now, if otherwise than in the table.
    pub dissent: Option<String>,
}

/// What was measured in one cell.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Evidence {
    /// Size of the call in bytes.
    pub bytes: u64,
    /// The full name of what was chosen there.
    pub chosen: String,
    /// Why, as a sentence without a full stop.
    pub why: String,
    /// How much longer the best other one takes than the chosen one, as a share; negative if it is
    /// faster. Where one of the two is the default, by the ratio paired inside launches.
    pub margin: Option<f64>,
    /// The candidates, fastest first; speed-ups are rounded as in tables.
    pub ranking: Vec<Ranked>,
    /// Candidates that are missing as none of their repetitions was valid.
    pub never_valid: Vec<OftenInvalid>,
}

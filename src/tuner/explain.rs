//! The evidence behind a decision.

use std::path::{Path, PathBuf};

use results::{CellDecision, Ranked};
use serde::Serialize;
use store::Store;
use table::{Decision, DecisionJson, OperatorClass, Operators, Query, ShapeMatch, Table};
use vocabulary::CommShape;
use wire::Shares;

use crate::{Analysis, TunerError};

/// Why a table decides as it does for one query.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The decision.
    pub decision: DecisionJson,
    /// What was measured at the nearest sizes: at most one below or at the query's size and one
    /// above. Empty if the store is not at hand.
    pub evidence: Vec<Evidence>,
    /// How ranks came to common starts in all that the store holds, as a clause; absent if unknown.
    pub starts: Option<String>,
    /// That calls found nothing in caches, as a clause; absent where they might have.
    pub cold: Option<String>,
    /// Where measuring time went, in all that the store holds; absent if unknown.
    pub shares: Option<Shares>,
    /// The store that the evidence is from; absent if only the table spoke.
    pub store: Option<PathBuf>,
    /// Why the store could not speak.
    pub silence: Option<String>,
    /// Where the measurements in the store would now be decided otherwise than the table does.
    pub dissent: Option<String>,
}

/// What was measured in one cell.
#[derive(Clone, Debug, Serialize)]
pub struct Evidence {
    /// Length of the call, as in [`vocabulary::Cell::bytes`].
    pub bytes: u64,
    /// The full name of what was chosen there.
    pub chosen: String,
    /// Why, as a sentence without a full stop.
    pub why: String,
    /// How much longer the best other one takes than the chosen one, as a share; negative if it is
    /// faster.
    pub margin: Option<f64>,
    /// The candidates, fastest first.
    pub ranking: Vec<Ranked>,
    /// Those that are not among them as none of their repetitions was valid, by full name, with how
    /// many these were.
    pub never_valid: Vec<(String, u64)>,
}

/// Explains a table's answer to a query with the samples in `store`, if there is such a file.
///
/// # Errors
/// Only for a store that exists and cannot be read.
pub fn explain(table: &Table, query: &Query, store: &Path) -> Result<Explanation, TunerError> {
    let decision = table.lookup(query);
    let mut explanation = Explanation {
        decision: decision.to_json(),
        evidence: Vec::new(),
        starts: None,
        cold: None,
        shares: None,
        store: None,
        silence: None,
        dissent: None,
    };
    if !store.exists() {
        explanation.silence = Some(format!("the store {} is not here", store.display()));
        return Ok(explanation);
    }
    let opened = Store::open(store)?;
    let library = &table.provenance.library;
    if !opened.libraries()?.contains(library) {
        explanation.silence = Some(format!(
            "{} has no measurements of {library}",
            store.display()
        ));
        return Ok(explanation);
    }
    let analysis = Analysis::of(&opened, Some(library), None)?;
    explanation.evidence = evidence(&analysis, query, &decision);
    if !analysis.agrees_with(table) {
        explanation.dissent = Some(dissent(&explanation.evidence, query, &decision));
    }
    explanation.starts = analysis.starts.map(|starts| starts.to_string());
    explanation.cold = analysis.environment().cold.map(|cold| cold.to_string());
    explanation.shares = analysis.shares;
    explanation.store = Some(store.to_owned());
    Ok(explanation)
}

/// What to know where the measurements are not those that the table was made from, or would be
/// decided otherwise.
fn dissent(evidence: &[Evidence], query: &Query, decision: &Decision<'_>) -> String {
    let candidate = decision.candidate.to_string();
    let says = evidence
        .iter()
        .find(|found| found.bytes == query.bytes && found.chosen != candidate)
        .map(|found| {
            format!(
                "; where the table says {candidate}, they say {}",
                found.chosen
            )
        })
        .unwrap_or_default();
    format!(
        "the table was made from other measurements than those now in the store, or with other \
         settings{says}: `colltune decide` makes a table of these"
    )
}

fn evidence(analysis: &Analysis, query: &Query, decision: &Decision<'_>) -> Vec<Evidence> {
    let shape = match decision.matched {
        ShapeMatch::Measured | ShapeMatch::Model => query.shape,
        ShapeMatch::Nearest(shape) => shape,
        ShapeMatch::Absent => return Vec::new(),
    };
    let known = match decision.matched {
        ShapeMatch::Model => &analysis.extended,
        _ => analysis.decisions_for(query.deployment),
    };
    let cells: Vec<&CellDecision> = known.iter().filter(|d| concerns(d, query, shape)).collect();
    let below = cells
        .iter()
        .filter(|d| d.cell.bytes <= query.bytes)
        .max_by_key(|d| d.cell.bytes);
    let above = cells
        .iter()
        .filter(|d| d.cell.bytes > query.bytes)
        .min_by_key(|d| d.cell.bytes);
    let exact = below.is_some_and(|d| d.cell.bytes == query.bytes);
    below
        .into_iter()
        .chain(above.filter(|_| !exact))
        .map(|decision| spell_out(decision, analysis))
        .collect()
}

fn concerns(decision: &CellDecision, query: &Query, shape: CommShape) -> bool {
    let class = match query.operators {
        OperatorClass::Commutative => Operators::Commutative,
        OperatorClass::Noncommutative => Operators::Noncommutative,
    };
    decision.cell.collective == query.collective
        && decision.cell.shape == shape
        && (decision.operators == Operators::Any || decision.operators == class)
}

fn spell_out(decision: &CellDecision, analysis: &Analysis) -> Evidence {
    let seconds_of = |ranked: &&Ranked| ranked.candidate == decision.chosen;
    let chosen = decision
        .ranking
        .iter()
        .find(seconds_of)
        .map(|ranked| ranked.median_seconds);
    let runner_up = decision
        .ranking
        .iter()
        .filter(|ranked| ranked.candidate != decision.chosen)
        .map(|ranked| ranked.median_seconds)
        .min_by(f64::total_cmp);
    Evidence {
        bytes: decision.cell.bytes,
        chosen: decision.chosen.to_string(),
        why: decision.verdict.to_string(),
        margin: chosen
            .zip(runner_up)
            .map(|(chosen, other)| other / chosen - 1.0),
        ranking: decision.ranking.clone(),
        never_valid: analysis
            .never_valid
            .iter()
            .filter(|never| never.cell == decision.cell)
            .map(|never| (never.candidate.to_string(), never.invalid))
            .collect(),
    }
}

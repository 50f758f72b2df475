//! The evidence behind a decision.

use std::path::Path;

use results::Explanation;
use store::Store;
use table::{Query, Table};

use crate::{CampaignAnalysis, TunerError};

/// Explains a table's decision for a query with the samples in `store`, if that file exists.
///
/// # Errors
/// Only for a store that exists and cannot be read.
pub fn explain_decision(
    table: &Table,
    query: &Query,
    store: &Path,
) -> Result<Explanation, TunerError> {
    let decision = table.lookup(query);
    let mut explanation = Explanation {
        decision: decision.to_json(),
        evidence: Vec::new(),
        pattern: table.provenance.pattern,
        common_starts: None,
        cold_cache: None,
        measuring_time: None,
        store: None,
        no_evidence: None,
        disagreement: None,
    };
    // Without measurements the table's own answer stands, with the reason why there is no more to say.
    if !store.exists() {
        explanation.no_evidence = Some(if table.provenance.has_launches() {
            format!(
                "the store {} is not here; name it with `--store`",
                store.display()
            )
        } else {
            "nothing was measured for it".to_owned()
        });
        return Ok(explanation);
    }
    let opened = Store::open(store)?;
    let library = &table.provenance.library;
    if !opened.libraries()?.contains(library) {
        explanation.no_evidence = Some(format!(
            "{} has no measurements of {library}; name another store with `--store`",
            store.display()
        ));
        return Ok(explanation);
    }
    let analysis = CampaignAnalysis::from_store(&opened, Some(library), None)?;
    // Times in different patterns of calls differ, so those of another one are no evidence for this table.
    if analysis.found.pattern != explanation.pattern {
        explanation.no_evidence = Some(format!(
            "the table was made with `pattern: {}`, and {} was last measured into with `pattern: {}`; \
             measure with the table's pattern again",
            explanation.pattern,
            store.display(),
            analysis.found.pattern
        ));
        return Ok(explanation);
    }
    explanation.evidence = analysis.found.evidence_for(query, &decision);
    // A store may have got further measurements since the table was made.
    if analysis.agrees_with(table) {
        use_paired_ratio(&mut explanation);
    } else {
        explanation.disagreement = Some(fit::describe_disagreement(
            &explanation.evidence,
            query,
            &decision,
        ));
    }
    explanation.common_starts = analysis.common_starts().map(|starts| starts.to_string());
    explanation.cold_cache = analysis
        .last_environment()
        .cold
        .map(|cold| cold.to_string());
    explanation.measuring_time = analysis.found.cost.shares;
    explanation.store = Some(store.to_owned());
    Ok(explanation)
}

/// Replaces the decision's speed-up by the paired ratio that it rests on: tables of earlier versions hold only the
/// ratio of two medians.
fn use_paired_ratio(explanation: &mut Explanation) {
    let decision = &mut explanation.decision;
    let mut evidence = explanation.evidence.iter();
    // The speed-up for several distributions is a mean, which the table has.
    let exact = evidence.find(|found| {
        found.bytes == decision.bytes
            && found.chosen == decision.candidate
            && found.distribution.is_none()
    });
    let chosen = exact.and_then(|found| {
        let mut ranking = found.ranking.iter();
        ranking.find(|ranked| ranked.candidate.to_string() == found.chosen)
    });
    if let Some(speedup) = chosen.and_then(|chosen| chosen.speedup) {
        decision.speedup = Some(speedup.median);
    }
}

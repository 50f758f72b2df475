//! Verdicts of earlier validations, and the decisions that they turn back.

use std::collections::BTreeSet;

use results::{CellDecision, Verdict};
use table::{Confidence, Deployment, OperatorClass, RulePlace, TurnedBack};
use vocabulary::{Candidate, Cell, Pattern, Sample, Subject};

use crate::joint::shares_one_rule;
use crate::{DecideOptions, FitError, FreshMeasurements};

/// Removes the verdicts that newer launches overrule: confirming launches after a verdict against a candidate that
/// confirm it at the same size and with the same distribution of the data. Where one rule holds for all sizes, it is
/// enough that it loses there in none of these launches, since it need not be faster in each cell.
///
/// `samples` are those of confirming launches, as for [`FreshMeasurements::from_samples`]. A verdict without a launch
/// is kept.
///
/// # Errors
/// The errors of [`FreshMeasurements::from_samples`].
pub fn remove_overruled_verdicts(
    verdicts: Vec<table::Verdict>,
    samples: &[(Pattern, Vec<Sample>)],
    failures: &[(Subject, Candidate)],
    options: &DecideOptions,
) -> Result<Vec<table::Verdict>, FitError> {
    let wrong = || verdicts.iter().filter(|verdict| verdict.is_wrong());
    let since: BTreeSet<u32> = wrong()
        .filter_map(|verdict| verdict.newest_launch)
        .collect();
    let mut overruled = BTreeSet::new();
    for newest in since {
        let newer = samples.iter().map(|(pattern, samples)| {
            let newer = samples.iter().filter(|sample| sample.launch > newest);
            (*pattern, newer.cloned().collect())
        });
        let fresh = FreshMeasurements::from_samples(&newer.collect::<Vec<_>>(), failures, options)?;
        for (place, verdict) in verdicts.iter().enumerate() {
            let is_due = verdict.is_wrong() && verdict.newest_launch == Some(newest);
            let mut cells = fresh.measured_cells();
            cells.retain(|cell| is_about_cell(verdict, cell));
            let candidate = &verdict.candidate;
            let is_overruled = if shares_one_rule(verdict.collective) {
                let holds = |cell: &Cell| fresh.holds_its_own(cell, candidate);
                !cells.is_empty() && cells.iter().all(holds)
            } else {
                cells.iter().any(|cell| fresh.is_confirmed(cell, candidate))
            };
            if is_due && is_overruled {
                overruled.insert(place);
            }
        }
    }
    let mut place = 0..;
    let mut standing = verdicts;
    standing.retain(|_| place.next().is_none_or(|place| !overruled.contains(&place)));
    Ok(standing)
}

/// Whether a verdict is about a cell, whatever the cell's datatype.
fn is_about_cell(verdict: &table::Verdict, cell: &Cell) -> bool {
    (verdict.collective, verdict.shape, verdict.bytes) == (cell.collective, cell.shape, cell.bytes)
        && verdict.distribution == cell.distribution
        && verdict.operators == OperatorClass::from_commutes(cell.commutes())
}

/// Keeps the default where a rule of these decisions was turned back.
pub(crate) fn refute_turned_back(
    decisions: &mut [CellDecision],
    deployment: Deployment,
    turned_back: &[TurnedBack],
) {
    for decision in decisions {
        if !turned_back
            .iter()
            .any(|change| is_choice_turned_back(change, decision, deployment))
        {
            continue;
        }
        let chosen = std::mem::replace(&mut decision.chosen, Candidate::Default);
        decision.verdict = Verdict::Refuted;
        decision.confidence = Confidence::Medium;
        let mut ranking = decision.ranking.iter_mut();
        if let Some(refuted) = ranking.find(|ranked| ranked.candidate == chosen) {
            refuted.beats_default = false;
        }
    }
}

/// Whether a decision's choice was turned back.
fn is_choice_turned_back(
    change: &TurnedBack,
    decision: &CellDecision,
    deployment: Deployment,
) -> bool {
    let RulePlace::Rule {
        collective,
        shape,
        operators,
        deployments,
        ..
    } = change.rule
    else {
        return false;
    };
    (collective, shape) == (decision.cell.collective, decision.cell.shape)
        && operators.overlap(decision.operators)
        && deployments.hold_for(deployment)
        && change.candidate == decision.chosen
        && change.sizes.contains(&decision.cell.bytes)
}

//! From decisions to a decision table.

use std::collections::BTreeMap;

use schedule::Collective;
use table::{
    CandidateTimes, Confidence, Deployments, MeasuredPoint, Operators, Provenance, Rule,
    RuleSource, ShapeRules, Table,
};
use vocabulary::{Candidate, Cell, RankOrder};

use crate::joint::{self, shares_one_rule};
use crate::runs::{self, SeriesKey};
use crate::thresholds::choices_between_sizes;
use results::{CellDecision, Verdict};

/// Builds the decision table.
///
/// Neighbouring sizes with the same choice make one rule. A rule ends where the times of its candidate and of the next
/// one cross, interpolated between the two measured sizes on logarithmic scales, or in the geometric middle if a time
/// is unknown. If they do not cross, it ends right above the lower size if the next candidate is faster at both sizes,
/// and otherwise at the higher size. The default counts as 5 % faster than it is. A third candidate that is faster
/// between the two has a rule of its own. Where fresh launches have confirmed choices, a rule ends at the last
/// confirmed size, or extends to the next one ([`CellDecision::up_to_next`]). The first rule starts at 0 bytes, the
/// last has no end.
///
/// A collective that does not decide by size has one rule ([`Collective::decides_by_size`]). Of several distributions of
/// the data, the times and speed-ups at measured sizes are geometric means; the times that are interpolated are those
/// with the lowest speed-up.
///
/// Rules that are equal for commutative and noncommutative operators, or for all operators and commutative ones, are
/// written once, with the lower of the two confidences; so are rules that are equal for both deployments. `decisions`
/// are those of [`crate::decide_cells`], `of_library` those for the library's own settings. Cells without a measured
/// default are left out. `extended` are decisions of [`crate::decide_unmeasured_shapes`]: their entries are marked as
/// the model's and have no measured times.
pub fn build_table(
    name: &str,
    provenance: Provenance,
    decisions: &[CellDecision],
    of_library: &[CellDecision],
    extended: &[CellDecision],
) -> Table {
    Table {
        name: name.to_owned(),
        provenance,
        collectives: build_rules(decisions, of_library, extended, &[]),
        verdicts: Vec::new(),
        nonblocking: None,
    }
}

/// The rules of [`build_table`]; `grid` are the cells of the campaign.
pub(crate) fn build_rules(
    decisions: &[CellDecision],
    of_library: &[CellDecision],
    extended: &[CellDecision],
    grid: &[Cell],
) -> BTreeMap<Collective, Vec<ShapeRules>> {
    let mut collectives = deployment_entries(decisions, Deployments::Colltune, grid);
    for (collective, entries) in deployment_entries(extended, Deployments::Colltune, &[]) {
        let of_model = entries.into_iter().map(|entry| ShapeRules {
            source: RuleSource::Model,
            measured: Vec::new(),
            candidates: Vec::new(),
            ..entry
        });
        collectives.entry(collective).or_default().extend(of_model);
    }
    for (collective, entries) in deployment_entries(of_library, Deployments::Library, grid) {
        let known = collectives.entry(collective).or_default();
        for entry in entries {
            let alike = |other: &&mut ShapeRules| {
                other.operators == entry.operators && has_same_choices(other, &entry)
            };
            match known.iter_mut().find(alike) {
                Some(same) => {
                    same.deployments = Deployments::Any;
                    lower_confidence(same, &entry);
                }
                None => known.push(entry),
            }
        }
        // Entries for some operators come before those for all others.
        known.sort_by_key(|entry| {
            let is_for_all = entry.operators == Operators::Any;
            (entry.shape, is_for_all, entry.deployments, entry.operators)
        });
    }
    for (collective, entries) in &mut collectives {
        table::leave_needed_times(*collective, entries);
    }
    collectives
}

/// The entries of one deployment.
fn deployment_entries(
    decisions: &[CellDecision],
    deployments: Deployments,
    grid: &[Cell],
) -> BTreeMap<Collective, Vec<ShapeRules>> {
    let comparable = decisions
        .iter()
        .filter(|d| d.verdict != Verdict::DefaultNotMeasured);
    let merged = joint::merge_distributions(comparable, grid);
    let mut collectives: BTreeMap<Collective, Vec<ShapeRules>> = BTreeMap::new();
    for (series, points) in runs::group_by_series(merged.iter()) {
        let points: Vec<Vec<&CellDecision>> = points.into_values().collect();
        let entries = collectives.entry(series.0).or_default();
        let entry = shape_rules(series, deployments, &points);
        // Whether two neighbouring entries, in this order, hold for all operators together.
        let are_of_all = |pair| {
            use Operators::{Any, Commutative, Noncommutative};
            matches!(pair, (Commutative, Noncommutative) | (Any, Commutative))
        };
        match entries.last_mut() {
            Some(before)
                if are_of_all((before.operators, entry.operators))
                    && has_same_choices(before, &entry) =>
            {
                before.operators = Operators::Any;
                lower_confidence(before, &entry);
                before.candidates.retain(|times| {
                    let mut others = entry.candidates.iter();
                    others.any(|other| other.candidate == times.candidate)
                });
            }
            _ => entries.push(entry),
        }
    }
    collectives
}

/// Whether two entries make the same decisions on the same shape.
fn has_same_choices(one: &ShapeRules, other: &ShapeRules) -> bool {
    let choices = |entry: &ShapeRules| {
        let choice = |rule: &Rule| (rule.from_bytes, rule.candidate.clone());
        entry.rules.iter().map(choice).collect::<Vec<_>>()
    };
    one.shape == other.shape && choices(one) == choices(other)
}

/// Lowers the confidence of the common rules to the lower of both.
fn lower_confidence(entry: &mut ShapeRules, other: &ShapeRules) {
    for (rule, other_rule) in entry.rules.iter_mut().zip(&other.rules) {
        rule.confidence = rule.confidence.min(other_rule.confidence);
        rule.confirmed &= other_rule.confirmed;
    }
}

/// The rules of one series, from its decisions by ascending size, with at least one at each size.
fn shape_rules(
    (collective, shape, operators): SeriesKey,
    deployments: Deployments,
    points: &[Vec<&CellDecision>],
) -> ShapeRules {
    let is_settled = points
        .iter()
        .any(|point| point[0].up_to_next.is_some() || point[0].verdict == Verdict::Confirmed);
    let rules = if shares_one_rule(collective) {
        vec![rule_for_all_sizes(points)]
    } else if is_settled {
        confirmed_rules(points)
    } else {
        interpolated_rules(points)
    };
    let known = points.iter().map(|point| point[0]);
    let known: Vec<(&CellDecision, MeasuredPoint)> = known
        .filter_map(|decision| Some((decision, measured_point(decision)?)))
        .collect();
    // Times by size would make rules by size on shapes between this one and others.
    let candidates = if shares_one_rule(collective) {
        Vec::new()
    } else {
        candidate_times(&known)
    };
    let measured = known.into_iter().map(|(_, point)| point).collect();
    ShapeRules {
        shape,
        order: RankOrder::Unknown,
        operators,
        deployments,
        source: RuleSource::Measured,
        rules,
        measured,
        candidates,
    }
}

/// The one rule of a collective that does not decide by size.
fn rule_for_all_sizes(points: &[Vec<&CellDecision>]) -> Rule {
    let all: Vec<&CellDecision> = points.iter().flatten().copied().collect();
    let is_confirmed = all
        .iter()
        .any(|decision| decision.verdict == Verdict::Confirmed);
    let first = all.first().map(|first| &first.chosen);
    let agreed = first.filter(|first| all.iter().all(|decision| decision.chosen == **first));
    let chosen = agreed.unwrap_or(&Candidate::Default);
    Rule {
        confirmed: is_confirmed && *chosen != Candidate::Default,
        ..rule_from_decisions(0, chosen, &all)
    }
}

/// One rule per run of sizes with the same choice, with thresholds where times cross. Between two runs, candidates that
/// are faster than both choices have rules of their own.
fn interpolated_rules(points: &[Vec<&CellDecision>]) -> Vec<Rule> {
    let mut rules = Vec::new();
    let mut previous: Option<&CellDecision> = None;
    for run in points.chunk_by(|a, b| a[0].chosen == b[0].chosen) {
        let mut from_bytes = 0;
        if let Some(previous) = previous {
            let mut changes = choices_between_sizes(previous, run[0][0]);
            from_bytes = changes
                .pop()
                .map_or(run[0][0].cell.bytes, |(bytes, _)| bytes);
            let ends = [previous, run[0][0]];
            rules.extend(
                changes
                    .into_iter()
                    .map(|(from, other)| rule_from_decisions(from, other, &ends)),
            );
        }
        let decisions: Vec<&CellDecision> = run.iter().flatten().copied().collect();
        rules.push(rule_from_decisions(
            from_bytes,
            &run[0][0].chosen,
            &decisions,
        ));
        previous = run.last().map(|point| point[0]);
    }
    rules
}

/// The rule that follows from these decisions.
fn rule_from_decisions(
    from_bytes: u64,
    candidate: &Candidate,
    decisions: &[&CellDecision],
) -> Rule {
    let speedup = runs::geometric_mean_speedup(decisions.iter().copied(), candidate);
    let confidence = decisions.iter().map(|decision| decision.confidence).min();
    let confidence = confidence.unwrap_or(Confidence::Low);
    Rule::new(from_bytes, candidate.clone(), speedup, confidence)
}

/// A range of sizes with one chosen candidate.
struct RulePiece<'a> {
    from_bytes: u64,
    candidate: &'a Candidate,
    /// The decisions at its ends.
    decisions: Vec<&'a CellDecision>,
}

/// One rule per run of pieces with the same candidate: sizes and the ranges between them. Outside all sizes nothing was
/// compared with the default.
fn confirmed_rules(points: &[Vec<&CellDecision>]) -> Vec<Rule> {
    let outside = |from_bytes, decision| RulePiece {
        from_bytes,
        candidate: &Candidate::Default,
        decisions: vec![decision],
    };
    let mut pieces = Vec::new();
    for (place, point) in points.iter().enumerate() {
        let decision = point[0];
        if place == 0 && decision.cell.bytes > 0 {
            pieces.push(outside(0, decision));
        }
        pieces.push(RulePiece {
            from_bytes: decision.cell.bytes,
            candidate: &decision.chosen,
            decisions: vec![decision],
        });
        // Calls without data have no other size.
        if place + 1 == points.len() && decision.cell.collective.has_data() {
            pieces.push(outside(decision.cell.bytes + 1, decision));
        }
        let next = points.get(place + 1).map(|next| next[0]);
        if let (Some(candidate), Some(next)) = (&decision.up_to_next, next) {
            pieces.push(RulePiece {
                from_bytes: decision.cell.bytes + 1,
                candidate,
                decisions: vec![decision, next],
            });
        }
    }
    let runs = pieces.chunk_by(|a, b| a.candidate == b.candidate);
    runs.map(|run| {
        let candidate = run[0].candidate;
        let all = run.iter().flat_map(|piece| &piece.decisions);
        // By ascending size, so that equal decisions are adjacent.
        let mut decisions: Vec<&CellDecision> = all.copied().collect();
        decisions.dedup_by_key(|decision| decision.cell);
        // The range between two sizes at which it is chosen has the confidence of these.
        if decisions
            .iter()
            .any(|decision| decision.chosen == *candidate)
        {
            decisions.retain(|decision| decision.chosen == *candidate);
        }
        Rule {
            confirmed: *candidate != Candidate::Default,
            ..rule_from_decisions(run[0].from_bytes, candidate, &decisions)
        }
    })
    .collect()
}

/// The times of all candidates at these points.
fn candidate_times(points: &[(&CellDecision, MeasuredPoint)]) -> Vec<CandidateTimes> {
    let ranked = points.iter().flat_map(|(decision, _)| &decision.ranking);
    let mut candidates: Vec<&Candidate> = ranked.map(|ranked| &ranked.candidate).collect();
    candidates.sort_unstable();
    candidates.dedup();
    candidates.retain(|candidate| **candidate != Candidate::Default);
    let times = candidates.into_iter().map(|candidate| {
        let at = |decision: &CellDecision| Some(decision.ranked(candidate)?.median_seconds);
        let seconds = points.iter().map(|(decision, _)| at(decision)).collect();
        let is_default = points
            .iter()
            .map(|(decision, _)| is_same_as_default(decision, candidate));
        CandidateTimes::new(candidate.clone(), seconds, is_default.collect())
    });
    times.collect()
}

/// The largest difference between the default's median and that of the algorithm that it uses, as a share.
const SAME: f64 = 0.03;
/// The largest difference where the interval of the ratio includes 1.
const SAME_WITHIN_NOISE: f64 = 0.1;

/// Whether the default takes as long as a candidate, so that both may be the same algorithm: one of the library's own
/// algorithms, or any candidate where none of these was measured.
pub(crate) fn is_same_as_default(decision: &CellDecision, candidate: &Candidate) -> bool {
    let knows_natives = || {
        let mut ranking = decision.ranking.iter();
        ranking.any(|ranked| ranked.candidate.is_native())
    };
    let ranked = decision.ranked(candidate);
    let ratio = ranked.and_then(|ranked| ranked.speedup);
    // The mean over several distributions may hide that they differ from the default, by as much in both directions.
    let lowest = || Some(decision.ranked_default()?.median_seconds / ranked?.median_seconds);
    let may_differ = decision.cell.collective.is_irregular()
        && lowest().is_none_or(|lowest| lowest.ln().abs() > SAME_WITHIN_NOISE);
    !may_differ
        && ratio.is_some_and(|ratio| {
            let difference = ratio.median.ln().abs();
            let is_one = ratio.interval.low <= 1.0 && 1.0 <= ratio.interval.high;
            difference <= SAME || (is_one && difference <= SAME_WITHIN_NOISE)
        })
        && (candidate.is_native() || !knows_natives())
}

/// The measured times of a decision; where several datatypes or operators were measured, those of the first.
fn measured_point(decision: &CellDecision) -> Option<MeasuredPoint> {
    let seconds = |candidate| Some(decision.ranked(candidate)?.median_seconds);
    let default_seconds = seconds(&Candidate::Default)?;
    // Of several distributions, the time in the ranking is that with the lowest speed-up.
    let own_seconds = match decision.chosen_gain() {
        Some(mean) if decision.cell.collective.is_irregular() => default_seconds / mean.median,
        _ => seconds(&decision.chosen)?,
    };
    let point = MeasuredPoint::new(decision.cell.bytes, own_seconds, default_seconds);
    Some(match decision.chosen_gain() {
        Some(gain) => point.with_speedup(gain.median),
        None => point,
    })
}

//! Measured times beside expected ones.

use std::collections::BTreeSet;

use model::{Line, Link, Machine};
use results::{CellDecision, Expected, ModelCurve, ModelKind, ModelScore, Ranked, Summary};
use vocabulary::{Cell, CommShape};

use crate::calibrate::{Calibration, SeriesSizes};
use crate::prediction::seconds_on_machine;
use crate::runs::group_by_series;
use crate::{MachineFit, predicted_seconds};

/// The points of one algorithm: its name, the shape, and the measurement in each cell.
type AlgorithmSeries<'a> = (String, CommShape, Vec<(Cell, &'a Ranked)>);

/// Predicts the time of a candidate in a cell, with parameters from all sizes or from those that remain when one half
/// of them is held out.
type Predict<'a> = &'a dyn Fn(&Cell, &Ranked, Option<usize>) -> Option<f64>;

/// The curves of our algorithms that are the fastest of ours at some size, by collective, shape and class of operators.
pub fn compare_expected(decisions: &[CellDecision]) -> Vec<ModelCurve> {
    let expected = |(cell, ranked): (Cell, &Ranked)| {
        Some(Expected {
            bytes: cell.bytes,
            candidate: ranked.candidate.clone(),
            measured_seconds: ranked.median_seconds,
            expected_seconds: ranked.predicted_seconds?,
        })
    };
    series_of_best_algorithms(decisions)
        .into_iter()
        .map(|(algorithm, shape, points)| ModelCurve {
            algorithm,
            shape,
            points: points.into_iter().filter_map(expected).collect(),
        })
        .collect()
}

fn series_of_best_algorithms(decisions: &[CellDecision]) -> Vec<AlgorithmSeries<'_>> {
    let mut all = Vec::new();
    for ((_, shape, _), sizes) in group_by_series(decisions.iter()) {
        let of_series: Vec<&CellDecision> = sizes.into_values().flatten().collect();
        let best = of_series
            .iter()
            .filter_map(|decision| ranked_with_prediction(decision).next());
        let names: BTreeSet<String> = best
            .map(|ranked| ranked.candidate.without_blocks().to_string())
            .collect();
        for algorithm in names {
            let is_this =
                |ranked: &&Ranked| ranked.candidate.without_blocks().to_string() == algorithm;
            let points = of_series
                .iter()
                .filter_map(|decision| {
                    Some((
                        decision.cell,
                        ranked_with_prediction(decision).find(is_this)?,
                    ))
                })
                .collect();
            all.push((algorithm, shape, points));
        }
    }
    all
}

/// Our algorithms that have an expected time, fastest first.
fn ranked_with_prediction(decision: &CellDecision) -> impl Iterator<Item = &Ranked> {
    let ranking = decision.ranking.iter();
    ranking.filter(|ranked| ranked.predicted_seconds.is_some())
}

/// Counts the wrong predictions of the model at the points of [`compare_expected`], and those of simpler models that
/// lack some of its features; the full model comes last.
pub fn score_models(
    decisions: &[CellDecision],
    fit: &MachineFit,
    summaries: &[Summary],
) -> Vec<ModelScore> {
    // Simpler models start from the parameters that experiments measured: calibrated ones have seen these points.
    let calibration = fit.calibration.as_deref();
    let measured = calibration.map(|calibration| &calibration.measured);
    let Some(machine) = measured.or(fit.machine.as_ref()) else {
        return Vec::new();
    };
    let sizes = SeriesSizes::from_summaries(summaries);
    let all = series_of_best_algorithms(decisions);
    let points = || all.iter().flat_map(|(.., points)| points);
    let inner = || points().filter(|(cell, _)| sizes.half_of(cell).is_some());
    // Each model is judged at all points, and at those whose size it had not seen.
    let score = |model, predict: Predict<'_>| {
        let is_wrong = |cell: &Cell, ranked: &Ranked, side| {
            let expected = predict(cell, ranked, side);
            expected.is_none_or(|s| Expected::is_off((ranked.median_seconds / s).ln()))
        };
        let wrong = points().filter(|(cell, ranked)| is_wrong(cell, ranked, None));
        let held_out = inner().filter(|(cell, ranked)| is_wrong(cell, ranked, sizes.half_of(cell)));
        let held_out = [held_out.count(), inner().count()];
        ModelScore::new(model, [wrong.count(), points().count()], held_out)
    };
    let simpler = [
        (ModelKind::OneLine, one_line_machine(machine)),
        (
            ModelKind::Lines,
            with_links(machine, without_pattern_factors),
        ),
        (ModelKind::Patterns, machine.clone()),
    ];
    let mut scores: Vec<ModelScore> = simpler
        .iter()
        .map(|(kind, simplified)| {
            let gamma_alone = *kind == ModelKind::OneLine;
            score(*kind, &|cell, ranked, _| {
                seconds_on_machine(fit, simplified, cell, &ranked.candidate, gamma_alone)
            })
        })
        .collect();
    // Only the calibrated model was fitted to such points, so only for it does the side make a difference.
    if let Some(Calibration { halves, .. }) = calibration {
        let calibrated = score(ModelKind::Calibrated, &|cell, ranked, side| match side {
            None => predicted_seconds(fit, cell, &ranked.candidate),
            Some(side) => seconds_on_machine(fit, &halves[side], cell, &ranked.candidate, false),
        });
        scores.push(calibrated);
    }
    scores
}

fn with_links(machine: &Machine, change: impl Fn(&Link) -> Link) -> Machine {
    Machine {
        network: machine.network.as_ref().map(&change),
        node: machine.node.as_ref().map(&change),
        ..machine.clone()
    }
}

/// The machine as modelled up to version 0.1.
fn one_line_machine(machine: &Machine) -> Machine {
    let straight = with_links(machine, |link| Link {
        lines: Vec::new(),
        ..without_pattern_factors(link)
    });
    Machine {
        copying: Vec::new(),
        ..straight
    }
}

fn without_pattern_factors(link: &Link) -> Link {
    let plain = |line: &Line| Line {
        exchange: None,
        ..*line
    };
    Link {
        lines: link.lines.iter().map(plain).collect(),
        shift: None,
        fan_out: None,
        fan_in: None,
        ..link.clone()
    }
}

//! Candidates that are not tried because the model predicts them to be too slow.

use statistics::median;
use vocabulary::{Candidate, Cell};

use super::guide::Expectation;
use super::known::KnownMeasurements;

/// The largest margin, also used while the model's errors are unknown.
const UNTESTED: f64 = 8.0;
/// The smallest margin, however accurate the model has been.
const TRUSTED: f64 = 2.0;
/// The margin in standard deviations of the model's error.
const SPREAD: f64 = 3.0;
/// The standard deviation of a normal distribution, in median absolute deviations.
const PER_MAD: f64 = 1.4826;
/// The fewest measured times from which the model's error is estimated.
const ENOUGH: usize = 8;

/// The factor over the best predicted time at which a candidate is not tried.
///
/// The model's errors are the logarithms of measured by predicted time. In each measured cell their median is
/// subtracted, since an error that all candidates share changes no choice. The margin follows from the median absolute
/// deviation over all cells of the collective.
pub(crate) fn margin_from_errors(
    known: &KnownMeasurements,
    expectation: &dyn Expectation,
    like: &Cell,
) -> f64 {
    let mut deviations = Vec::new();
    let cells = known
        .measured_cells()
        .filter(|cell| cell.collective == like.collective);
    for cell in cells {
        let Some(measured) = known.known_cell(cell) else {
            continue;
        };
        let errors: Vec<f64> = measured
            .timed_candidates()
            .filter_map(|candidate| {
                let expected = expectation.seconds(cell, candidate)?;
                Some((measured.median_seconds(candidate)? / expected).ln())
            })
            .filter(|error| error.is_finite())
            .collect();
        if let Some(common) = median(&errors) {
            deviations.extend(errors.iter().map(|error| (error - common).abs()));
        }
    }
    match median(&deviations) {
        Some(deviation) if deviations.len() >= ENOUGH => (SPREAD * PER_MAD * deviation)
            .exp()
            .clamp(TRUSTED, UNTESTED),
        _ => UNTESTED,
    }
}

/// The candidates that may win: those predicted to take at most `margin` times as long as the best, and those without
/// a prediction.
pub(crate) fn promising_candidates(
    cell: &Cell,
    candidates: Vec<Candidate>,
    expectation: &dyn Expectation,
    margin: f64,
) -> Vec<Candidate> {
    let expected: Vec<Option<f64>> = candidates
        .iter()
        .map(|candidate| expectation.seconds(cell, candidate))
        .collect();
    let best = expected
        .iter()
        .flatten()
        .copied()
        .fold(f64::INFINITY, f64::min);
    candidates
        .into_iter()
        .zip(expected)
        .filter(|(_, seconds)| seconds.is_none_or(|seconds| seconds <= margin * best))
        .map(|(candidate, _)| candidate)
        .collect()
}

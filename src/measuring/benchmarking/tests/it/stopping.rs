//! The effect of stopping at a narrow interval on the median and its interval.

use benchmarking::Progress;
use statistics::{median, median_interval};
use vocabulary::Repetition;

use crate::synthetic::{Draw, Noise, QUIET};

const WANTED: Repetition = Repetition {
    minimum: 10,
    maximum: 10_000,
    precision: 0.03,
    confidence: 0.95,
    slice_seconds: 1.0,
};

/// The results of many candidates, each alone in its launch.
#[derive(Default)]
struct Outcome {
    /// Mean logarithm of the found median divided by the true one.
    bias: f64,
    /// Standard deviation of the same.
    spread: f64,
    /// Share of intervals that cover the true median.
    covered: f64,
    /// Mean number of repetitions.
    repetitions: f64,
}

/// Repeats candidates until they have enough repetitions, and again with the same numbers fixed in advance.
///
/// Calls are so short that the slice is never used up.
fn stop(noise: &Noise, truth: f64, trials: usize) -> [Outcome; 2] {
    let call_seconds = 1e-6;
    let mut draw = Draw::with_seed(1);
    let mut counts = Vec::new();
    let stopped = outcome(trials, truth, || {
        let mut progress = Progress::default();
        while !progress.is_enough(&WANTED) {
            let calls = progress.turn_repetitions(call_seconds, &WANTED, 60.0);
            let turn: Vec<f64> = (0..calls).map(|_| draw.repetition(1.0, noise)).collect();
            progress.add_turn(&turn, call_seconds * turn.iter().sum::<f64>());
        }
        counts.push(progress.seconds().len());
        progress.seconds().to_vec()
    });
    let mut unseen_draw = Draw::with_seed(2);
    let mut counts = counts.into_iter();
    let unseen = outcome(trials, truth, || {
        let count = counts.next().expect("as many trials");
        (0..count)
            .map(|_| unseen_draw.repetition(1.0, noise))
            .collect()
    });
    [stopped, unseen]
}

fn outcome(trials: usize, truth: f64, mut times: impl FnMut() -> Vec<f64>) -> Outcome {
    let mut outcome = Outcome::default();
    let mut squares = 0.0;
    for _ in 0..trials {
        let times = times();
        let ln_median = (median(&times).expect("times") / truth).ln();
        let interval = median_interval(&times, WANTED.confidence).expect("times");
        outcome.bias += ln_median / trials as f64;
        squares += ln_median.powi(2) / trials as f64;
        outcome.covered += f64::from(u8::from(!interval.excludes(truth))) / trials as f64;
        outcome.repetitions += times.len() as f64 / trials as f64;
    }
    outcome.spread = (squares - outcome.bias.powi(2)).sqrt();
    outcome
}

/// Stopping at a narrow interval favours times at which the interval is narrow by chance, so its coverage is lower than
/// stated. It treats high and low values alike, so the median is not biased.
#[test]
fn stopping_costs_coverage_within_the_launch_but_does_not_bias_the_median() {
    let trials = 2000;
    for (sigma, spikes) in [
        (0.02, 0.0),
        (0.05, 0.0),
        (0.1, 0.0),
        (0.1, 0.05),
        (0.2, 0.0),
    ] {
        let noise = Noise {
            sigma,
            spikes,
            ..QUIET
        };
        // One time in 20 is a spike, so 10 of the 19 others lie below the median.
        let quantile = if spikes > 0.0 { 0.066_012 } else { 0.0 };
        let truth = (sigma * quantile).exp();
        let [stopped, unseen] = stop(&noise, truth, trials);
        println!(
            "sigma {sigma}, spikes {spikes}: {:.0} repetitions; bias {:+.3} % (unseen {:+.3} %), \
             spread {:.2} % ({:.2} %), covered {:.1} % ({:.1} %)",
            stopped.repetitions,
            100.0 * stopped.bias,
            100.0 * unseen.bias,
            100.0 * stopped.spread,
            100.0 * unseen.spread,
            100.0 * stopped.covered,
            100.0 * unseen.covered,
        );
        let three_deviations = 3.0 * (2.0 / trials as f64).sqrt();
        let bias = (stopped.bias - unseen.bias).abs();
        assert!(bias < three_deviations * stopped.spread, "{sigma}: {bias}");
        assert!(stopped.spread < 1.15 * unseen.spread, "{sigma}");
        assert!(unseen.covered >= 0.95 - 0.015, "{sigma}");
        assert!(stopped.covered >= 0.90, "{sigma}: {}", stopped.covered);
    }
}

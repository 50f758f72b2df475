//! The bootstrap over launches: summaries of launches drawn with replacement.

use std::collections::BTreeSet;

use fastrand::Rng;
use results::Summary;
use statistics::{Interval, median, quantile};
use vocabulary::defaults::CONFIDENCE;

/// The number of draws.
const DRAWS: u64 = 200;
/// The fewest launches to draw from. On synthetic machines up to a quarter of the intervals from three launches missed the
/// mean of many runs, and a thirtieth at most of those from six.
const FEWEST_LAUNCHES: usize = 6;
/// The most summaries, over all draws, that are decided on again; they take about ten seconds.
const MOST: u64 = 1_000_000;
const SEED: u64 = 1979;

/// Bootstrap samples of the summaries: in each, as many launches as measured are drawn with replacement, the same
/// launches for all cells and candidates (Efron 1979, "Bootstrap methods: another look at the jackknife"). The iterator
/// is empty if there are too few launches or too many summaries.
pub(crate) fn draw_summaries(of: &[Summary]) -> impl Iterator<Item = Vec<Summary>> {
    let launches = of.iter().flat_map(|summary| &summary.launch_medians);
    let launches: BTreeSet<u32> = launches.map(|(launch, _)| *launch).collect();
    let launches: Vec<u32> = launches.into_iter().collect();
    let is_feasible = launches.len() >= FEWEST_LAUNCHES && DRAWS * of.len() as u64 <= MOST;
    let mut random = Rng::with_seed(SEED);
    let draws = 0..if is_feasible { DRAWS } else { 0 };
    draws.map(move |_| {
        let mut draw = || launches[random.usize(..launches.len())];
        let drawn: Vec<u32> = launches.iter().map(|_| draw()).collect();
        of.iter()
            .filter_map(|summary| redraw_summary(summary, &drawn))
            .collect()
    })
}

/// A summary of the drawn launches, which count as different ones; `None` if none of them measured it.
fn redraw_summary(summary: &Summary, drawn: &[u32]) -> Option<Summary> {
    summary.subject.cell()?;
    let measured = &summary.launch_medians;
    let seconds_of = |wanted| {
        let index = measured.binary_search_by_key(wanted, |(launch, _)| *launch);
        Some(measured[index.ok()?].1)
    };
    let medians = (1..).zip(drawn);
    let medians = medians.filter_map(|(number, launch)| Some((number, seconds_of(launch)?)));
    let launch_medians: Vec<(u32, f64)> = medians.collect();
    let seconds: Vec<f64> = launch_medians.iter().map(|(_, seconds)| *seconds).collect();
    let mut redrawn = Summary {
        median_seconds: median(&seconds)?,
        launch_medians,
        ..summary.clone()
    };
    redrawn.counts.launches = seconds.len() as u32;
    Some(redrawn)
}

/// The interval that contains [`CONFIDENCE`] of these values, widened to include the value `found` with all launches;
/// `None` without values.
pub(crate) fn bootstrap_interval(mut values: Vec<f64>, found: f64) -> Option<Interval> {
    values.sort_by(f64::total_cmp);
    let beyond = (1.0 - CONFIDENCE) / 2.0;
    Some(Interval {
        low: quantile(&values, beyond)?.min(found),
        high: quantile(&values, 1.0 - beyond)?.max(found),
        coverage: CONFIDENCE,
    })
}

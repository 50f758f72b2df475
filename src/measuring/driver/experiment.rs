//! Experiments that measure parameters of the machine.

mod bench;
mod carrier;

use std::time::Instant;

use benchmarking::batch;
use exec::ExecError;
use statistics::clock::ClockResolution;
use vocabulary::{Experiment, ExperimentKind, Repetition, Through};
use wire::{Measurement, TimeBreakdown};

use bench::Bench;
pub(crate) use bench::Setting;

/// The least duration of a repetition, long enough to hide the timer's cost.
const BATCH_SECONDS: f64 = 20e-6;

/// The number of calls to warm up and to estimate their duration.
const WARMUP: u32 = 30;

/// The most repetitions, unless the plan requires more.
const ENOUGH: u32 = 1000;

/// The number of ranks of its shape that an experiment needs.
pub(crate) fn ranks_needed(experiment: &Experiment) -> usize {
    match experiment.kind {
        ExperimentKind::Burst if experiment.is_among_nodes() => experiment.shape.ranks() as usize,
        ExperimentKind::PingPong
        | ExperimentKind::Exchange
        | ExperimentKind::Burst
        | ExperimentKind::Late => 2,
        ExperimentKind::Combine { .. } if experiment.through == Through::Shared => 2,
        ExperimentKind::Combine { .. } | ExperimentKind::Copy => 1,
        ExperimentKind::Shift
        | ExperimentKind::FanOut
        | ExperimentKind::FanIn
        | ExperimentKind::Injection => experiment.shape.ranks() as usize,
    }
}

/// Measures an experiment. Collective over the setting's communicator, which has exactly the ranks that are needed,
/// as others would take the cores of the measured ones. Returns the measurement and how the time was spent. Calls
/// `progressed` regularly: on a busy machine the whole experiment may take longer than the watchdog allows for one
/// step.
pub(crate) fn measure_experiment(
    experiment: &Experiment,
    repetition: &Repetition,
    timer: &ClockResolution,
    setting: Setting<'_>,
    progressed: &dyn Fn(),
) -> Result<(Measurement, TimeBreakdown), ExecError> {
    let begin = Instant::now();
    let communicator = setting.communicator;
    let mut bench = Bench::new(experiment, setting)?;
    let is_late = experiment.kind == ExperimentKind::Late;
    let (first, warmup) = if is_late { (1, 2) } else { (5, WARMUP) };
    bench.time_calls(first)?;
    let mut estimate = [bench.time_calls(warmup)? / f64::from(warmup)];
    communicator.maximum_over_ranks(&mut estimate)?;
    let (batch, repetitions) = if is_late {
        // Only whether the time is shorter than the receiver's delay matters.
        (1, repetition.minimum)
    } else {
        let batch = (BATCH_SECONDS / estimate[0].max(1e-9))
            .ceil()
            .clamp(1.0, 10_000.0)
            .max(batch::calls_per_batch(estimate[0], timer).into());
        (
            batch as u32,
            repetitions_in_slice(estimate[0] * batch, repetition),
        )
    };
    let mut seconds = Vec::with_capacity(repetitions as usize);
    let preparing = begin.elapsed();
    for _ in 0..repetitions {
        progressed();
        seconds.push(bench.time_calls(batch)? / f64::from(batch) / bench.messages_per_call());
    }
    let calling = begin.elapsed() - preparing;
    communicator.maximum_over_ranks(&mut seconds)?;
    let spent = TimeBreakdown {
        preparing_seconds: preparing.as_secs_f64(),
        starting_seconds: 0.0,
        calling_seconds: calling.as_secs_f64(),
    };
    let measured = Measurement {
        candidate: 0,
        warmup: warmup + first,
        batch,
        seconds,
        invalid: Vec::new(),
        residual_seconds: None,
        left: None,
    };
    Ok((measured, spent))
}

/// The number of repetitions that fit in the time slice, within the plan's bounds.
fn repetitions_in_slice(seconds: f64, wanted: &Repetition) -> u32 {
    let most = wanted.maximum.min(ENOUGH).max(wanted.minimum);
    let fitting = wanted.slice_seconds / seconds;
    (fitting as u32).clamp(wanted.minimum, most)
}

#[cfg(test)]
mod tests {
    use super::repetitions_in_slice;
    use vocabulary::Repetition;

    #[test]
    fn repetitions_fit_in_the_slice_and_keep_to_the_bounds() {
        let check = |minimum, maximum, seconds, expected| {
            let wanted = Repetition {
                minimum,
                maximum,
                precision: 0.03,
                confidence: 0.95,
                slice_seconds: 1.0,
            };
            assert_eq!(repetitions_in_slice(seconds, &wanted), expected);
        };
        check(10, 500, 1.0 / 64.0, 64);
        check(10, 500, 1.0, 10);
        check(10, 500, 1e-6, 500);
        check(10, 5000, 1e-6, 1000);
        check(2000, 5000, 1e-6, 2000);
        check(2000, 5000, 1.0, 2000);
        check(10, 500, 0.0, 500);
    }
}

//! Samples summarised by candidate and subject.

use std::collections::{BTreeMap, BTreeSet};

use vocabulary::bounds::TIME;
use vocabulary::defaults::CONFIDENCE;
use vocabulary::{Candidate, Pattern, Sample, Subject};

use crate::FitError;
use crate::frame::{self, LaunchSummary};
use results::{Counts, Summary};
use statistics::Interval;

/// Summarises samples of calls of one pattern, in ascending order of subject and candidate.
///
/// Samples of the same launch, subject and candidate are pooled; samples without repetitions do not count. A launch
/// with a median of 0 does not count either: at least half of its repetitions were shorter than the timer's resolution,
/// so the time is unknown. A candidate measured only in such launches has no summary.
///
/// The calls of a batch overlap, so times of a cell can be compared only between repetitions with equal numbers of
/// calls. Launches with another number than most launches of the cell (of equally frequent numbers, the largest) are
/// left out and counted. All launches count for experiments, since their calls do not overlap, and for
/// [`Pattern::Repeated`], which times blocks of any length in steady state.
///
/// # Errors
/// A time that is neither 0 nor within [`TIME`].
pub fn summarise_samples(samples: &[Sample], pattern: Pattern) -> Result<Vec<Summary>, FitError> {
    check_times(samples)?;
    let usual = usual_batches(samples, pattern);
    // Samples of experiments always count.
    let counts = |sample: &Sample| {
        let usual = usual.get(&sample.subject);
        usual.is_none_or(|batch| *batch == sample.batch)
    };
    let mut keys: BTreeMap<(Subject, &Candidate), CandidateSamples> = BTreeMap::new();
    for sample in samples {
        let group = keys.entry((sample.subject, &sample.candidate)).or_default();
        group.add_sample(sample, counts(sample));
    }
    for (group, number) in keys.values_mut().zip(0..) {
        group.number = number;
    }
    let counted: Vec<(u32, &Sample)> = samples
        .iter()
        .filter(|sample| counts(sample))
        .map(|sample| (keys[&(sample.subject, &sample.candidate)].number, sample))
        .collect();
    let mut launches = frame::summarise_launches(&counted)?;
    launches.retain(|launch| launch.median > 0.0);
    let keys: Vec<_> = keys.into_iter().collect();
    Ok(launches
        .chunk_by(|a, b| a.group == b.group)
        .map(|launches| {
            let ((subject, candidate), group) = &keys[launches[0].group as usize];
            combine_launches(*subject, (*candidate).clone(), group, launches)
        })
        .collect())
}

/// The number of calls per repetition in most launches of each cell, for patterns in which it affects the times.
fn usual_batches(samples: &[Sample], pattern: Pattern) -> BTreeMap<Subject, u32> {
    // A block of repeated calls is timed in steady state: the time per call does not depend on the block's length.
    if pattern == Pattern::Repeated {
        return BTreeMap::new();
    }
    let mut launches: BTreeMap<Subject, BTreeMap<u32, BTreeSet<u32>>> = BTreeMap::new();
    for sample in samples.iter().filter(|sample| !sample.seconds.is_empty()) {
        if let Subject::Cell(_) = sample.subject {
            let batches = launches.entry(sample.subject).or_default();
            let with_as_many = batches.entry(sample.batch).or_default();
            with_as_many.insert(sample.launch);
        }
    }
    let usual = launches.into_iter().filter_map(|(subject, batches)| {
        // Of equally frequent numbers the largest counts: longer blocks are further above the clock's resolution.
        let most = batches.into_iter().max_by_key(|(_, with)| with.len());
        Some((subject, most?.0))
    });
    usual.collect()
}

/// The samples of one candidate of one subject.
#[derive(Default)]
struct CandidateSamples {
    /// In ascending order of subject and candidate.
    number: u32,
    /// Launches in which the candidate left the race.
    left: BTreeSet<u32>,
    /// Launches with samples that do not count.
    other_batches: BTreeSet<u32>,
    /// The largest number of calls in a repetition, over the samples that count.
    batch: u32,
    /// The number of invalid repetitions in these samples.
    invalid: u64,
}

impl CandidateSamples {
    fn add_sample(&mut self, sample: &Sample, counts: bool) {
        if !counts {
            self.other_batches.insert(sample.launch);
            return;
        }
        if sample.left.is_some() {
            self.left.insert(sample.launch);
        }
        self.batch = self.batch.max(sample.batch);
        self.invalid += u64::from(sample.invalid);
    }
}

fn check_times(samples: &[Sample]) -> Result<(), FitError> {
    for sample in samples {
        let is_time = |seconds: &f64| TIME.contains_or_zero(*seconds);
        if let Some(repetition) = sample.seconds.iter().position(|seconds| !is_time(seconds)) {
            return Err(FitError::NotATime {
                subject: Box::new(sample.subject),
                candidate: Box::new(sample.candidate.clone()),
                launch: sample.launch,
                repetition,
                seconds: sample.seconds[repetition],
            });
        }
    }
    Ok(())
}

/// Combines the launches of one candidate and subject; there is at least one.
fn combine_launches(
    subject: Subject,
    candidate: Candidate,
    group: &CandidateSamples,
    launches: &[LaunchSummary],
) -> Summary {
    let medians: Vec<f64> = launches.iter().map(|launch| launch.median).collect();
    let median_seconds = statistics::median(&medians).unwrap_or(f64::NAN);
    Summary {
        subject,
        candidate,
        counts: Counts {
            launches: launches.len() as u32,
            left_launches: group.left.len() as u32,
            other_batches: group.other_batches.len() as u32,
            batch: group.batch,
            repetitions: launches
                .iter()
                .map(|launch| u64::from(launch.repetitions))
                .sum(),
            invalid: group.invalid,
        },
        median_seconds,
        interval: statistics::median_interval(&medians, CONFIDENCE)
            .unwrap_or_else(|| Interval::single_value(median_seconds)),
        launch_medians: launches.iter().map(|l| (l.launch, l.median)).collect(),
    }
}

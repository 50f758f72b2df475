//! Repetitions that reports mention, and their synchronisation.

use std::collections::{BTreeMap, BTreeSet};

use results::{OFTEN_INVALID, OftenInvalid, RepetitionCounts, Starts, Summary};
use statistics::{PairedRatio, paired_ratio};
use vocabulary::defaults::CONFIDENCE;
use vocabulary::{Candidate, Cell, Pattern, Sample, Subject};

/// Counts unusual repetitions in cells, in calls of this pattern. `summaries` are those of candidates that the campaign asks
/// for; `samples` may be of others, too, which `asks_for` tells apart.
pub fn count_unusual_repetitions(
    samples: &[Sample],
    summaries: &[Summary],
    pattern: Pattern,
    asks_for: impl Fn(&Subject, &Candidate) -> bool,
) -> RepetitionCounts {
    let mut found = RepetitionCounts {
        never_valid: find_never_valid(samples, asks_for),
        ..RepetitionCounts::default()
    };
    let mut batched = BTreeSet::new();
    for summary in summaries {
        let Subject::Cell(cell) = summary.subject else {
            continue;
        };
        let counts = summary.counts;
        // Repeated and skewed repetitions always have several calls.
        if pattern.is_together() && counts.batch > 1 {
            batched.insert(cell);
            found.most_calls = found.most_calls.max(counts.batch);
        }
        found.other_batches += u64::from(counts.other_batches);
        let (invalid, repetitions) = (counts.invalid, counts.repetitions + counts.invalid);
        if invalid as f64 > OFTEN_INVALID * repetitions as f64 {
            found.often_invalid.push(OftenInvalid {
                candidate: summary.candidate.clone(),
                cell,
                invalid,
                repetitions,
            });
        }
    }
    found.batched_cells = batched.len();
    found.placebos = compare_placebos(summaries);
    found
}

/// The default against itself under another name, by cell.
fn compare_placebos(summaries: &[Summary]) -> Vec<(Cell, PairedRatio)> {
    let medians_of = |candidate: Candidate| {
        let found = summaries.iter().filter(move |s| s.candidate == candidate);
        found.filter_map(|summary| Some((summary.subject.cell()?, &summary.launch_medians)))
    };
    let defaults: BTreeMap<Cell, _> = medians_of(Candidate::Default).collect();
    medians_of(Candidate::Placebo)
        .filter_map(|(cell, placebo)| {
            let ratio = paired_ratio(placebo, defaults.get(&cell)?, CONFIDENCE)?;
            Some((cell, ratio))
        })
        .collect()
}

/// Candidates with repetitions in a cell of which none is valid, so that they have no summary.
fn find_never_valid(
    samples: &[Sample],
    asks_for: impl Fn(&Subject, &Candidate) -> bool,
) -> Vec<OftenInvalid> {
    let mut counts: BTreeMap<(Cell, &Candidate), (usize, u64)> = BTreeMap::new();
    for sample in samples {
        if let Subject::Cell(cell) = sample.subject
            && asks_for(&sample.subject, &sample.candidate)
        {
            let (valid, invalid) = counts.entry((cell, &sample.candidate)).or_default();
            *valid += sample.seconds.len();
            *invalid += u64::from(sample.invalid);
        }
    }
    let never = counts
        .into_iter()
        .filter(|(_, (valid, invalid))| *valid == 0 && *invalid > 0);
    never
        .map(|((cell, candidate), (_, invalid))| OftenInvalid {
            candidate: candidate.clone(),
            cell,
            invalid,
            repetitions: invalid,
        })
        .collect()
}

/// The method by which ranks were synchronised, over all samples; a store holds measurements with one method only.
pub fn common_starts(samples: &[Sample]) -> Starts {
    let residual = |sample: &Sample| sample.residual_seconds;
    let Some(residual_seconds) = samples.iter().filter_map(residual).reduce(f64::max) else {
        return Starts::Barrier;
    };
    let windows = samples
        .iter()
        .filter(|sample| sample.residual_seconds.is_some());
    let (mut invalid, mut valid) = (0, 0);
    for sample in windows {
        invalid += u64::from(sample.invalid);
        valid += sample.seconds.len() as u64;
    }
    Starts::Windows {
        invalid,
        repetitions: invalid + valid,
        residual_seconds,
    }
}

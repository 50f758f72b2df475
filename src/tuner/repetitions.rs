//! Which repetitions a reader is to be told of.

use std::collections::{BTreeMap, BTreeSet};

use report::{OFTEN_INVALID, OftenInvalid, Repetitions};
use results::Summary;
use vocabulary::{Candidate, Cell, Sample, Subject};

/// What to know of the repetitions in cells.
pub(crate) fn of(summaries: &[Summary]) -> Repetitions {
    let mut about = Repetitions::default();
    let mut batched = BTreeSet::new();
    for summary in summaries {
        let Subject::Cell(cell) = summary.subject else {
            continue;
        };
        let counts = summary.counts;
        if counts.batch > 1 {
            batched.insert(cell);
            about.most_calls = about.most_calls.max(counts.batch);
        }
        about.other_batches += u64::from(counts.other_batches);
        let (invalid, repetitions) = (counts.invalid, counts.repetitions + counts.invalid);
        if invalid as f64 > OFTEN_INVALID * repetitions as f64 {
            about.often_invalid.push(OftenInvalid {
                candidate: summary.candidate.clone(),
                cell,
                invalid,
                repetitions,
            });
        }
    }
    about.batched_cells = batched.len();
    about
}

/// Candidates of which repetitions in a cell were taken and none is valid: no summary tells of them.
pub(crate) fn never_valid(
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

#[cfg(test)]
mod tests {
    use schedule::Collective;
    use vocabulary::{
        Candidate, Cell, CommShape, Datatype, Experiment, ExperimentKind, Sample, Subject,
    };

    use super::{never_valid, of};

    const SHAPE: CommShape = CommShape { nodes: 1, ppn: 2 };

    fn sample(subject: Subject, launch: u32, batch: u32, invalid: u32) -> Sample {
        Sample {
            launch,
            subject,
            candidate: Candidate::Default,
            batch,
            seconds: vec![1e-6; 90],
            invalid,
            residual_seconds: None,
            left: None,
        }
    }

    fn cell(bytes: u64) -> Subject {
        Subject::Cell(Cell {
            collective: Collective::Bcast,
            shape: SHAPE,
            bytes,
            datatype: Datatype::Byte,
            operator: None,
        })
    }

    #[test]
    fn batches_and_invalid_repetitions_of_cells_are_told() {
        let experiment = Subject::Experiment(Experiment {
            kind: ExperimentKind::PingPong,
            shape: SHAPE,
            bytes: 8,
        });
        let samples = [
            sample(experiment, 1, 1000, 0),
            sample(cell(8), 1, 4, 10),
            sample(cell(64), 1, 2, 0),
            sample(cell(64), 2, 1, 0),
            sample(cell(64), 3, 2, 0),
            sample(cell(512), 1, 1, 11),
        ];
        let found = of(&fit::summarise(&samples).expect("times"));
        let numbers = (found.batched_cells, found.most_calls, found.other_batches);
        assert_eq!(numbers, (2, 4, 1));
        let [often] = &found.often_invalid[..] else {
            panic!("10 of 100 are not more than a tenth: {found:?}");
        };
        assert_eq!(Subject::Cell(often.cell), cell(512));
        assert_eq!((often.invalid, often.repetitions), (11, 101));
    }

    #[test]
    fn candidates_without_a_valid_repetition_are_told() {
        let none = |mut sample: Sample| {
            sample.seconds.clear();
            sample
        };
        let samples = [
            none(sample(cell(8), 1, 1, 40)),
            none(sample(cell(8), 2, 1, 60)),
            // One launch is enough to know something.
            none(sample(cell(64), 1, 1, 40)),
            sample(cell(64), 2, 1, 5),
            // Nothing was taken.
            none(sample(cell(512), 1, 1, 0)),
        ];
        let found = never_valid(&samples, |_, _| true);
        let [never] = &found[..] else {
            panic!("only the first: {found:?}");
        };
        assert_eq!(Subject::Cell(never.cell), cell(8));
        assert_eq!((never.invalid, never.repetitions), (100, 100));
        assert_eq!(never_valid(&samples, |_, _| false), []);
    }
}

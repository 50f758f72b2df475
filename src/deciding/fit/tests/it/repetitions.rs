//! Repetitions that reports mention.

use fit::{count_unusual_repetitions, summarise_samples};
use schedule::Collective;
use vocabulary::{
    Candidate, Cell, CommShape, Datatype, Experiment, ExperimentKind, Pattern, Sample, Subject,
};

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
        distribution: schedule::Distribution::Uniform,
    })
}

#[test]
fn batches_and_invalid_repetitions_of_cells_are_reported() {
    let experiment = Subject::Experiment(Experiment {
        kind: ExperimentKind::PingPong,
        shape: SHAPE,
        bytes: 8,
        through: vocabulary::Through::Mpi,
    });
    let samples = [
        sample(experiment, 1, 1000, 0),
        sample(cell(8), 1, 4, 10),
        sample(cell(64), 1, 2, 0),
        sample(cell(64), 2, 1, 0),
        sample(cell(64), 3, 2, 0),
        sample(cell(512), 1, 1, 11),
    ];
    let summaries = summarise_samples(&samples, Pattern::Together).expect("times");
    let found = count_unusual_repetitions(&samples, &summaries, Pattern::Together, |_, _| true);
    let numbers = (found.batched_cells, found.most_calls, found.other_batches);
    assert_eq!(numbers, (2, 4, 1));
    let [often] = &found.often_invalid[..] else {
        panic!("10 of 100 are not more than a tenth: {found:?}");
    };
    assert_eq!(Subject::Cell(often.cell), cell(512));
    assert_eq!((often.invalid, often.repetitions), (11, 101));
}

#[test]
fn candidates_without_a_valid_repetition_are_reported() {
    let none = |mut sample: Sample| {
        sample.seconds.clear();
        sample
    };
    let samples = [
        none(sample(cell(8), 1, 1, 40)),
        none(sample(cell(8), 2, 1, 60)),
        // One launch with valid repetitions is enough.
        none(sample(cell(64), 1, 1, 40)),
        sample(cell(64), 2, 1, 5),
        // There were no repetitions.
        none(sample(cell(512), 1, 1, 0)),
    ];
    let never_valid = |asks_for| {
        count_unusual_repetitions(&samples, &[], Pattern::Together, |_, _| asks_for).never_valid
    };
    let found = never_valid(true);
    let [never] = &found[..] else {
        panic!("only the first: {found:?}");
    };
    assert_eq!(Subject::Cell(never.cell), cell(8));
    assert_eq!((never.invalid, never.repetitions), (100, 100));
    assert_eq!(never_valid(false), []);
}

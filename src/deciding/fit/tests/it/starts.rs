//! The synchronisation of measurements.

use fit::common_starts;
use results::Starts;
use schedule::Collective;
use vocabulary::{Candidate, Cell, CommShape, Datatype, Sample, Subject};

fn sample(valid: usize, invalid: u32, residual_seconds: Option<f64>) -> Sample {
    let cell = Cell {
        collective: Collective::Bcast,
        shape: CommShape { nodes: 1, ppn: 2 },
        bytes: 8,
        datatype: Datatype::Byte,
        operator: None,
        distribution: schedule::Distribution::Uniform,
    };
    Sample {
        launch: 1,
        subject: Subject::Cell(cell),
        candidate: Candidate::Default,
        batch: 1,
        seconds: vec![1e-6; valid],
        invalid,
        residual_seconds,
        left: None,
    }
}

#[test]
fn samples_with_a_residual_were_taken_in_windows() {
    // The first sample is like that of an experiment, which has no common start.
    let samples = [
        sample(1000, 0, None),
        sample(90, 10, Some(3e-7)),
        sample(50, 2, Some(5e-7)),
    ];
    let expected = Starts::Windows {
        invalid: 12,
        repetitions: 152,
        residual_seconds: 5e-7,
    };
    assert_eq!(common_starts(&samples), expected);
    assert_eq!(common_starts(&samples[..1]), Starts::Barrier);
}

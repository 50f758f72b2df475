//! Our algorithms beside the library's own.

use fit::compare_pairs;
use results::{Counts, Pairs, Summary};
use statistics::Interval;
use vocabulary::{Candidate, Cell, CommShape, Datatype, Library, Parameters, Subject};

/// A candidate with these times in three launches.
fn summary(bytes: u64, candidate: Candidate, seconds: [f64; 3]) -> Summary {
    let cell = Cell {
        collective: schedule::Collective::Bcast,
        shape: CommShape { nodes: 1, ppn: 4 },
        bytes,
        datatype: Datatype::Byte,
        operator: None,
        distribution: schedule::Distribution::Uniform,
    };
    let [first, second, third] = seconds;
    Summary {
        subject: Subject::Cell(cell),
        candidate,
        counts: Counts {
            launches: 3,
            left_launches: 0,
            other_batches: 0,
            batch: 1,
            repetitions: 3,
            invalid: 0,
        },
        median_seconds: second,
        interval: Interval {
            low: first,
            high: third,
            coverage: 0.75,
        },
        launch_medians: vec![(1, first), (2, second), (3, third)],
    }
}

fn named(algorithm: &str, bytes: Option<u64>) -> Candidate {
    let algorithm = algorithm.to_owned();
    if algorithm.starts_with(Candidate::NATIVE) {
        Candidate::Native {
            algorithm,
            parameters: Parameters {
                segment_bytes: bytes,
                ..Parameters::default()
            },
        }
    } else {
        Candidate::Ours {
            algorithm,
            parameters: Parameters {
                block_bytes: bytes,
                ..Parameters::default()
            },
        }
    }
}

/// The pairs for Open MPI; its pipeline is our chain.
fn of(summaries: &[Summary]) -> Vec<Pairs> {
    let library = Library {
        name: "openmpi".to_owned(),
        version: "4.1.4".to_owned(),
    };
    compare_pairs(summaries, &library)
}

#[test]
fn ratios_are_paired_in_launches_and_blocks_match() {
    let slow_second_launch = [1.0, 3.0, 1.0];
    let summaries = [
        summary(8, Candidate::Default, [1.0, 1.0, 1.0]),
        summary(
            8,
            named("bcast/chain", Some(4)),
            slow_second_launch.map(|s| 2.0 * s),
        ),
        summary(
            8,
            named("native:bcast/pipeline", Some(4)),
            slow_second_launch,
        ),
        summary(
            8,
            named("native:bcast/pipeline", Some(2)),
            [0.25, 0.25, 0.25],
        ),
    ];
    let pairs = of(&summaries);
    assert_eq!(pairs.len(), 1);
    let equivalents = &pairs[0].equivalents;
    assert_eq!(equivalents.len(), 1, "{equivalents:?}");
    assert_eq!(equivalents[0].name, "bcast/chain[block_bytes=4]");
    assert_eq!(
        equivalents[0].against,
        "native:bcast/pipeline[segment_bytes=4]"
    );
    let [(8, ratio)] = equivalents[0].points[..] else {
        panic!("{equivalents:?}");
    };
    let interval = ratio.interval;
    assert_eq!([interval.low, ratio.median, interval.high], [2.0, 2.0, 2.0]);

    // The library's best is the algorithm with short segments; the default is not forced.
    let best = |name: &str, against: &str| {
        let mut rows = pairs[0].best.iter();
        let row = rows.find(|row| row.name == name && row.against == against);
        row.unwrap_or_else(|| panic!("{name}")).points[0].1.median
    };
    assert_eq!(best("colltune", "the library, forced"), 8.0);
    assert_eq!(best("the library, forced", "default"), 0.25);
    assert_eq!(best("colltune", "default"), 2.0);
}

#[test]
fn eliminated_equivalents_are_left_out_and_counted() {
    let equivalents = |left_launches| {
        let left = |summary: Summary| Summary {
            counts: Counts {
                left_launches,
                ..summary.counts
            },
            ..summary
        };
        let summaries = [
            left(summary(8, named("bcast/chain", Some(4)), [2.0; 3])),
            summary(8, named("native:bcast/pipeline", Some(4)), [1.0; 3]),
            summary(64, named("bcast/chain", Some(4)), [2.0; 3]),
            summary(64, named("native:bcast/pipeline", Some(4)), [1.0; 3]),
            summary(512, named("bcast/chain", Some(4)), [1.0; 3]),
            left(summary(
                512,
                named("native:bcast/pipeline", Some(4)),
                [1.5; 3],
            )),
        ];
        let pairs = of(&summaries);
        let points = &pairs[0].equivalents[0].points;
        let sizes: Vec<u64> = points.iter().map(|(bytes, _)| *bytes).collect();
        (sizes, pairs[0].left_equivalents)
    };
    assert_eq!(equivalents(0), (vec![8, 64, 512], 0));
    assert_eq!(equivalents(1), (vec![64], 2));
}

#[test]
fn the_best_is_not_chosen_by_the_launch_that_judges_it() {
    // Over all launches the second candidate is better, because of one launch in which it was fast by chance.
    let summaries = [
        summary(8, named("bcast/chain", Some(2)), [0.9; 3]),
        summary(8, named("bcast/chain", Some(1)), [0.4, 1.2, 0.8]),
        summary(8, named("native:bcast/linear", None), [1.0; 3]),
    ];
    let ratio = |given: &[Summary]| {
        let pairs = of(given);
        assert_eq!(pairs[0].best[0].against, "the library, forced");
        let (_, ratio) = pairs[0].best[0].points[0];
        let interval = ratio.interval;
        (
            [interval.low, ratio.median, interval.high],
            interval.coverage,
        )
    };
    // For that launch the others choose the first candidate; for the other launches the second is chosen.
    assert_eq!(ratio(&summaries), ([0.8, 0.9, 1.2], 0.75));
    // A single launch has to choose for itself.
    let alone = summaries.map(|summary| Summary {
        launch_medians: summary.launch_medians[..1].to_vec(),
        ..summary
    });
    assert_eq!(ratio(&alone), ([0.4; 3], 0.0));
}

#[test]
fn without_forced_algorithms_there_are_no_pairs() {
    let summaries = [
        summary(8, Candidate::Default, [1.0; 3]),
        summary(8, named("bcast/chain", Some(4)), [2.0; 3]),
    ];
    assert!(of(&summaries).is_empty());
}

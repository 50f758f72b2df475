//! Summaries compared with statistics that are computed directly.

use fit::{FitError, summarise_samples};
use vocabulary::{Candidate, Elimination, Experiment, ExperimentKind, Pattern, Sample, Subject};

use crate::synthetic::{Noise, allreduce, ours, sample};

fn samples() -> Vec<Sample> {
    let mut noise = Noise::realistic(7);
    let mut samples = Vec::new();
    for launch in [3, 1, 2] {
        for (bytes, seconds) in [(1024, 3e-6), (8, 1e-6)] {
            for candidate in [ours("allreduce/dual_root", Some(4096)), Candidate::Default] {
                let subject = Subject::Cell(allreduce(4, bytes));
                let count = 10 + launch as usize;
                let seconds = noise.repetitions(seconds, count);
                samples.push(sample(launch, subject, &candidate, seconds));
            }
        }
    }
    samples
}

#[test]
fn summaries_agree_with_plain_statistics() {
    let samples = samples();
    let summaries = summarise_samples(&samples, Pattern::Together).expect("valid");
    assert_eq!(summaries.len(), 4);
    for found in &summaries {
        let mut medians = Vec::new();
        for launch in 1..=3 {
            let matches = |s: &&Sample| {
                (s.launch, s.subject, &s.candidate) == (launch, found.subject, &found.candidate)
            };
            let times = &samples.iter().find(matches).expect("measured").seconds;
            medians.push((launch, statistics::median(times).expect("not empty")));
        }
        let values: Vec<f64> = medians.iter().map(|(_, median)| *median).collect();
        assert_eq!(found.launch_medians, medians);
        assert_eq!(Some(found.median_seconds), statistics::median(&values));
        assert_eq!(
            Some(found.interval),
            statistics::median_interval(&values, 0.95)
        );
        assert_eq!(
            (found.counts.launches, found.counts.repetitions),
            (3, 11 + 12 + 13)
        );
    }
}

#[test]
fn the_order_of_samples_does_not_matter() {
    let mut samples = samples();
    let summaries = summarise_samples(&samples, Pattern::Together).expect("valid");
    assert!(summaries.is_sorted_by_key(|s| (s.subject, s.candidate.clone())));
    samples.reverse();
    assert_eq!(
        summarise_samples(&samples, Pattern::Together).expect("valid"),
        summaries
    );
}

#[test]
fn samples_of_one_launch_are_joined_and_empty_ones_ignored() {
    let subject = Subject::Cell(allreduce(2, 8));
    let part =
        |launch, seconds: &[f64]| sample(launch, subject, &Candidate::Default, seconds.to_vec());
    let found = summarise_samples(
        &[part(1, &[1.0, 2.0]), part(2, &[]), part(1, &[9.0])],
        Pattern::Together,
    )
    .expect("valid");
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].counts.launches, found[0].counts.repetitions),
        (1, 3)
    );
    assert_eq!(found[0].median_seconds, 2.0);
    assert!(
        summarise_samples(&[part(1, &[])], Pattern::Together)
            .expect("valid")
            .is_empty()
    );
    assert!(
        summarise_samples(&[], Pattern::Together)
            .expect("valid")
            .is_empty()
    );
}

#[test]
fn launches_in_which_a_candidate_was_eliminated_are_counted() {
    let mut samples = samples();
    let left = Elimination {
        round: 9,
        leader: 0,
        ratio: 1.4,
        saved_repetitions: 90.0,
        saved_seconds: 1e-3,
    };
    // The larger cell's candidate of ours, in launches 3 and 2.
    for place in [0, 8] {
        assert_ne!(samples[place].candidate, Candidate::Default);
        samples[place].left = Some(left);
    }
    let summaries = summarise_samples(&samples, Pattern::Together).expect("valid");
    let counts = summaries.iter().map(|summary| {
        let is_left =
            summary.subject == samples[0].subject && summary.candidate == samples[0].candidate;
        (summary.counts.left_launches, if is_left { 2 } else { 0 })
    });
    for (found, expected) in counts {
        assert_eq!(found, expected);
    }
}

#[test]
fn impossible_times_are_named() {
    let subject = Subject::Cell(allreduce(2, 8));
    let with = |seconds: &[f64]| {
        let error = summarise_samples(
            &[sample(5, subject, &Candidate::Default, seconds.to_vec())],
            Pattern::Together,
        );
        error.expect_err("impossible")
    };
    for wrong in [f64::NAN, f64::INFINITY, -1e-9, 1e-320, 1e308] {
        assert!(matches!(
            with(&[1e-6, wrong]),
            FitError::NotATime {
                launch: 5,
                repetition: 1,
                ..
            }
        ));
    }
}

#[test]
fn launches_too_short_for_the_timer_are_left_out() {
    let subject = Subject::Cell(allreduce(2, 8));
    let of = |candidate: &Candidate, launch, seconds: &[f64]| {
        sample(launch, subject, candidate, seconds.to_vec())
    };
    let ring = ours("allreduce/ring", None);
    let found = summarise_samples(
        &[
            of(&Candidate::Default, 1, &[0.0, 0.0, 1e-6]),
            of(&Candidate::Default, 2, &[0.0, 2e-6, 2e-6]),
            of(&ring, 1, &[0.0]),
        ],
        Pattern::Together,
    );
    let found = found.expect("valid");
    let [default] = &found[..] else {
        panic!("nothing is known of the ring: {found:?}")
    };
    assert_eq!(default.candidate, Candidate::Default);
    assert_eq!(default.launch_medians, [(2, 2e-6)]);
    assert_eq!(
        (default.counts.launches, default.counts.repetitions),
        (1, 3)
    );
}

#[test]
fn launches_with_the_most_frequent_batch_of_a_cell_count() {
    let cell = Subject::Cell(allreduce(2, 8));
    let kind = ExperimentKind::PingPong;
    let (shape, bytes) = (cell.shape(), 8);
    let experiment = Subject::Experiment(Experiment {
        kind,
        shape,
        bytes,
        through: vocabulary::Through::Mpi,
    });
    let ring = ours("allreduce/ring", None);
    let together = Pattern::Together;
    let check =
        |pattern, subject, batches: &[u32], counted: &[(u32, f64)], usual_batch, left_out| {
            let samples: Vec<Sample> = (1..)
                .zip(batches)
                .flat_map(|(launch, &batch)| {
                    [Candidate::Default, ring.clone()].map(|candidate| Sample {
                        batch,
                        ..sample(launch, subject, &candidate, vec![f64::from(launch)])
                    })
                })
                .collect();
            for found in summarise_samples(&samples, pattern).expect("valid") {
                assert_eq!(found.launch_medians, counted, "{batches:?}");
                let numbers = (found.counts.batch, found.counts.other_batches);
                assert_eq!(numbers, (usual_batch, left_out), "{batches:?}");
            }
        };
    check(together, cell, &[1, 1], &[(1, 1.0), (2, 2.0)], 1, 0);
    check(together, cell, &[8, 1, 8], &[(1, 1.0), (3, 3.0)], 8, 1);
    check(together, cell, &[8, 1, 1], &[(2, 2.0), (3, 3.0)], 1, 1);
    // Of equally frequent batches the longer ones count.
    check(together, cell, &[8, 4, 4, 8], &[(1, 1.0), (4, 4.0)], 8, 2);
    // Blocks of any length are in steady state.
    let all = [(1, 1.0), (2, 2.0), (3, 3.0)];
    check(Pattern::Repeated, cell, &[1024, 2048, 1024], &all, 2048, 0);
    check(
        together,
        experiment,
        &[8, 3, 4],
        &[(1, 1.0), (2, 2.0), (3, 3.0)],
        8,
        0,
    );
}

#[test]
fn invalid_repetitions_are_counted() {
    let subject = Subject::Cell(allreduce(2, 8));
    let with = |launch, batch, invalid| Sample {
        batch,
        invalid,
        ..sample(launch, subject, &Candidate::Default, vec![1e-6; 3])
    };
    // The last one is left out.
    let found = summarise_samples(
        &[with(1, 1, 4), with(2, 1, 0), with(3, 1, 7), with(4, 2, 9)],
        Pattern::Together,
    );
    let found = found.expect("valid")[0].counts;
    assert_eq!((found.repetitions, found.invalid), (9, 11));
}

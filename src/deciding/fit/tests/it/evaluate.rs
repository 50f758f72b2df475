//! Decisions at points that were held out.

use std::collections::BTreeMap;

use fit::{DecideOptions, Orders, score_held_out_points, score_table_choices, summarise_samples};
use results::{HeldOut, Method, Score, SplitScores};
use schedule::Collective;
use statistics::Interval;
use table::{
    Confidence, Deployment, Deployments, Operators, Provenance, Rule, RuleSource, ShapeRules, Table,
};
use testkit::tables;
use vocabulary::{Candidate, Cell, CommShape, Library, Pattern, RankOrder, Sample, Subject};

use crate::synthetic::{Noise, allreduce, launches, ours, sample};

fn provenance() -> Provenance {
    tables::provenance_for(Library {
        name: "openmpi".to_owned(),
        version: "4.1.4".to_owned(),
    })
}

fn evaluated(samples: &[Sample], failures: &[(Subject, Candidate)]) -> Vec<SplitScores> {
    let summaries = summarise_samples(samples, Pattern::Together).expect("valid");
    score_held_out_points(
        &summaries,
        failures,
        &DecideOptions::default(),
        &provenance(),
    )
}

fn score(scores: &SplitScores, method: Method) -> &Score {
    let found = scores.scores.iter().find(|score| score.method == method);
    found.expect("every method has one")
}

/// Microseconds of the default, dual_root and ring: the first is best below 2000 bytes, the last from
/// 140000 on.
fn times(bytes: u64) -> [f64; 3] {
    let m = bytes as f64;
    [1.0 + 1e-3 * m, 2.0 + 0.5e-3 * m, 30.0 + 0.3e-3 * m]
}

fn candidates() -> [Candidate; 3] {
    [
        Candidate::Default,
        ours("allreduce/dual_root", None),
        ours("allreduce/ring", None),
    ]
}

fn measured(cell: Cell, times: [f64; 3]) -> Vec<Sample> {
    let times = times.map(|time| [1e-6 * time; 6]);
    let of: Vec<(Candidate, &[f64])> = candidates()
        .into_iter()
        .zip(times.iter().map(|times| &times[..]))
        .collect();
    launches(cell, &of)
}

const SIZES: [u64; 8] = [8, 64, 512, 4096, 32_768, 262_144, 1 << 21, 1 << 24];

fn lines() -> Vec<Sample> {
    let of_size = |bytes: &u64| measured(allreduce(4, *bytes), times(*bytes));
    SIZES.iter().flat_map(of_size).collect()
}

/// The regret of a candidate, from the formula.
fn regret(bytes: u64, candidate: usize) -> f64 {
    let times = times(bytes);
    let best = times.into_iter().fold(f64::INFINITY, f64::min);
    times[candidate] / best - 1.0
}

#[test]
fn regrets_at_held_out_sizes_are_those_of_the_choices() {
    let scores = evaluated(&lines(), &[]);
    let [sizes] = &scores[..] else {
        panic!("{scores:?}")
    };
    assert_eq!((sizes.held_out, sizes.collective), (HeldOut::Sizes, None));
    assert_eq!((sizes.points, sizes.decided_on), (3, Some(5)));
    // Candidates chosen at 64, 4096 and 262144 bytes.
    for (method, chosen) in [
        (Method::Default, [0, 0, 0]),
        (Method::BestSingle, [1, 1, 1]),
        (Method::NearestLower, [0, 0, 1]),
        (Method::Nearest, [0, 1, 2]),
        (Method::StraightLines, [0, 1, 2]),
        (Method::LogLog, [0, 1, 1]),
        (Method::Model, [0, 1, 2]),
        // The table's rules also end where interpolated times cross.
        (Method::Table, [0, 1, 1]),
    ] {
        let mut regrets: Vec<f64> = [64, 4096, 262_144]
            .iter()
            .zip(chosen)
            .map(|(bytes, chosen)| regret(*bytes, chosen))
            .collect();
        regrets.sort_by(f64::total_cmp);
        let score = score(sizes, method);
        let near = |found: Option<f64>, expected: f64| {
            let found = found.expect("measured");
            assert!((found - expected).abs() < 1e-9, "{score:?}: {regrets:?}");
        };
        near(score.mean, regrets.iter().sum::<f64>() / 3.0);
        near(score.median, regrets[1]);
        near(score.worst.as_ref().map(|worst| worst.regret), regrets[2]);
        let good = regrets.iter().filter(|regret| **regret <= 0.05).count();
        near(score.within, good as f64 / 3.0);
        assert_eq!(score.points, 3);
    }
    let default = score(sizes, Method::Default);
    let worst = default.worst.as_ref().expect("measured");
    assert_eq!(
        (worst.cell.bytes, &worst.chosen),
        (262_144, &Candidate::Default)
    );
    let everywhere: f64 = SIZES.iter().map(|bytes| regret(*bytes, 0)).sum();
    let found = default.mean_everywhere.expect("sizes");
    assert!((found - everywhere / 8.0).abs() < 1e-9, "{found}");
}

/// The measurements at a held-out point must not affect the choice there.
#[test]
fn held_out_points_do_not_affect_decisions() {
    let mut samples = lines();
    for sample in &mut samples {
        let Subject::Cell(cell) = sample.subject else {
            panic!("a cell")
        };
        // The default is made the best by far at a held-out point.
        if cell.bytes == 262_144 && sample.candidate == Candidate::Default {
            sample.seconds = vec![1e-9; 3];
        }
    }
    let scores = evaluated(&samples, &[]);
    for method in [
        Method::BestSingle,
        Method::NearestLower,
        Method::Nearest,
        Method::StraightLines,
        Method::LogLog,
        Method::Model,
        Method::Table,
    ] {
        let worst = score(&scores[0], method).worst.as_ref().expect("measured");
        assert!(worst.regret > 1e4, "{method}: {worst:?}");
    }
}

#[test]
fn shapes_between_others_are_held_out_in_turn() {
    let mut samples = Vec::new();
    for (nodes, ppn) in [(1, 4), (2, 4), (4, 4), (8, 4), (8, 2)] {
        for bytes in [8, 65_536] {
            let cell = Cell {
                shape: CommShape { nodes, ppn },
                ..allreduce(ppn, bytes)
            };
            samples.extend(measured(
                cell,
                times(bytes).map(|time| time * f64::from(nodes)),
            ));
        }
    }
    let scores = evaluated(&samples, &[]);
    let [shapes] = &scores[..] else {
        panic!("{scores:?}")
    };
    // 2x4 and 4x4, with two sizes each; 8x4 has fewer ranks beside it but not more.
    assert_eq!((shapes.held_out, shapes.points), (HeldOut::Shapes, 4));
    assert_eq!(shapes.decided_on, None);
    for method in [
        Method::NearestLower,
        Method::LogLog,
        Method::Model,
        Method::Table,
    ] {
        let score = score(shapes, method);
        assert_eq!((score.points, score.mean), (4, Some(0.0)), "{score:?}");
        assert_eq!(score.mean_everywhere, None);
    }
    assert_eq!(shapes.losses, []);
    let default = score(shapes, Method::Default).mean.expect("measured");
    assert!(
        (default - regret(65_536, 0) / 2.0).abs() < 1e-9,
        "{default}"
    );
}

#[test]
fn failures_and_points_without_a_choice_do_not_count() {
    let mut samples = lines();
    // At this point there is only the default.
    samples.extend(launches(
        allreduce(8, 8),
        &[(Candidate::Default, &[1e-6; 6])],
    ));
    let failed = |bytes: u64| {
        let cell = Subject::Cell(allreduce(4, bytes));
        (cell, ours("allreduce/ring", None))
    };
    let scores = evaluated(&samples, &SIZES.map(failed));
    let of_default = score(&scores[0], Method::Default);
    let worst = of_default.worst.as_ref().expect("measured").regret;
    let [default, dual_root, _] = times(262_144);
    assert!(
        (worst - (default / dual_root - 1.0)).abs() < 1e-9,
        "{worst}"
    );
    assert_eq!(scores[0].points, 3);
}

/// All block sizes of at least the whole vector give the same schedule; a choice that was not measured has no regret.
#[test]
fn a_choice_counts_if_its_schedule_was_measured() {
    let mut samples = Vec::new();
    let block = |bytes| ours("allreduce/dual_root", Some(bytes));
    for (bytes, candidate) in [(64, block(64)), (512, block(8192)), (4096, block(4096))] {
        let times: [(Candidate, &[f64]); 2] =
            [(Candidate::Default, &[2e-6; 6]), (candidate, &[1e-6; 6])];
        samples.extend(launches(allreduce(4, bytes), &times));
    }
    let scores = evaluated(&samples, &[]);
    let lower = score(&scores[0], Method::NearestLower);
    // Blocks of 64 bytes make eight of 512, those of 4096 one.
    assert_eq!((scores[0].points, lower.points, lower.mean), (1, 0, None));
    let table = score(&scores[0], Method::Table);
    assert_eq!((table.points, table.mean), (1, Some(0.0)));

    for sample in &mut samples {
        if sample.candidate == block(64) {
            sample.candidate = block(2048);
        }
    }
    let changed_scores = evaluated(&samples, &[]);
    let changed_lower = score(&changed_scores[0], Method::NearestLower);
    assert_eq!((changed_lower.points, changed_lower.mean), (1, Some(0.0)));
}

#[test]
fn with_too_few_points_no_point_is_held_out() {
    assert_eq!(evaluated(&[], &[]), []);
    let two = |ppn: u32| {
        let of_size = move |bytes: &u64| measured(allreduce(ppn, *bytes), times(*bytes));
        SIZES[..2].iter().flat_map(of_size)
    };
    let samples: Vec<Sample> = two(2).chain(two(4)).collect();
    assert_eq!(evaluated(&samples, &[]), []);
}

#[test]
fn a_table_is_judged_at_every_point_of_other_measurements() {
    let summaries = summarise_samples(&lines(), Pattern::Together).expect("valid");
    let rule = |from_bytes, candidate| Rule::new(from_bytes, candidate, None, Confidence::Low);
    let [default, dual_root, ring] = candidates();
    let table = Table {
        name: "other".to_owned(),
        provenance: provenance(),
        collectives: BTreeMap::from([(
            Collective::Allreduce,
            vec![ShapeRules {
                order: RankOrder::Unknown,
                shape: CommShape { nodes: 1, ppn: 4 },
                operators: Operators::Commutative,
                deployments: Deployments::Colltune,
                source: RuleSource::Measured,
                rules: vec![rule(0, default), rule(4096, dual_root), rule(32_768, ring)],
                measured: Vec::new(),
                candidates: Vec::new(),
            }],
        )]),
        verdicts: Vec::new(),
        nonblocking: None,
    };
    let orders = Orders::default();
    let judged = score_table_choices(&table, Deployment::Colltune, &orders, &summaries, &[]);
    let [all] = &judged[..] else {
        panic!("{judged:?}")
    };
    assert_eq!(
        (all.held_out, all.points, all.decided_on),
        (HeldOut::All, 8, None)
    );
    let methods: Vec<Method> = all.scores.iter().map(|score| score.method).collect();
    assert_eq!(methods, [Method::Default, Method::Table]);
    let mean = |choice: fn(u64) -> usize| {
        let regrets = SIZES.map(|bytes| regret(bytes, choice(bytes)));
        regrets.iter().sum::<f64>() / 8.0
    };
    let expected = [
        mean(|_| 0),
        mean(|bytes| match bytes {
            0..4096 => 0,
            4096..32_768 => 1,
            _ => 2,
        }),
    ];
    for (score, expected_mean) in all.scores.iter().zip(expected) {
        let found = score.mean.expect("measured");
        assert!(
            (found - expected_mean).abs() < 1e-9,
            "{score:?}: {expected_mean}"
        );
    }
    // The table's only mistake is that it chooses the ring too early.
    let worst = all.scores[1].worst.as_ref().expect("there is one");
    assert_eq!(worst.cell.bytes, 32_768);
    // The library's own settings offer only the default here, so there is no choice.
    assert!(score_table_choices(&table, Deployment::Library, &orders, &summaries, &[]).is_empty());
}

/// Launches of a machine with noise, with the time of the default and of two other candidates in microseconds at 8 bytes.
fn noisy(mut noise: Noise, count: u32, microseconds: [f64; 3]) -> Vec<Sample> {
    let mut samples = Vec::new();
    for launch in 1..=count {
        for bytes in SIZES {
            let subject = Subject::Cell(allreduce(4, bytes));
            for (candidate, time) in candidates().iter().zip(microseconds) {
                let seconds = noise.in_launch(launch, 1e-6 * time * (bytes as f64 / 8.0).sqrt());
                let seconds = noise.repetitions(seconds, 5);
                samples.push(sample(launch, subject, candidate, seconds));
            }
        }
    }
    samples
}

#[track_caller]
fn difference(samples: &[Sample]) -> Option<Interval> {
    evaluated(samples, &[])[0].common.expect("known").difference
}

/// If all candidates are equally fast, the choices of two methods differ only by chance.
#[test]
fn noise_is_not_reported_as_a_difference_between_methods() {
    let mut differs = 0;
    for seed in 0..8 {
        let samples = noisy(Noise::realistic(seed), 6, [1.0; 3]);
        let found = difference(&samples).expect("six launches");
        assert_eq!(Some(found), difference(&samples), "not the same again");
        differs += u32::from(found.low < found.high);
        assert!(!found.excludes(0.0), "seed {seed}: {found:?}");
    }
    assert!(differs >= 6, "noise made no difference in most of 8");
}

/// A gain of 4 % is too small for a table to replace the default, not for log-log interpolation.
#[test]
fn a_difference_beyond_noise_is_reported() {
    let quiet = || {
        let mut noise = Noise::realistic(1);
        (noise.sigma, noise.point_sigma) = (0.001, 0.001);
        noise
    };
    let times = [1.04, 1.0, 1.04];
    let found = difference(&noisy(quiet(), 6, times)).expect("six launches");
    assert!(0.03 < found.low && found.high < 0.05, "{found:?}");
    assert_eq!(difference(&noisy(quiet(), 5, times)), None);
}

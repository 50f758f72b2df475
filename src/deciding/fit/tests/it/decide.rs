//! Decisions with known right answers.

use fit::{DecideOptions, decide_cells, summarise_samples};
use results::{CellDecision, Verdict};
use table::{Confidence, Deployment, Operators};
use vocabulary::{Candidate, Cell, Datatype, Operator, Pattern, Sample, Subject};

use crate::synthetic::{Noise, allreduce, launches, noncommutative, ours, sample};

const CELL: u64 = 65_536;

fn decided(samples: &[Sample], failures: &[(Subject, Candidate)]) -> Vec<CellDecision> {
    decided_with(samples, failures, &DecideOptions::default())
}

fn decided_with(
    samples: &[Sample],
    failures: &[(Subject, Candidate)],
    options: &DecideOptions,
) -> Vec<CellDecision> {
    let summaries = summarise_samples(samples, Pattern::Together).expect("valid");
    decide_cells(
        Deployment::Colltune,
        "openmpi",
        &summaries,
        failures,
        None,
        options,
    )
}

/// The decision for commutative operators in a cell with these times.
fn commutative(times: &[(Candidate, &[f64])]) -> CellDecision {
    decided(&launches(allreduce(4, CELL), times), &[])
        .into_iter()
        .find(|decision| decision.operators == Operators::Commutative)
        .expect("decided")
}

fn dual_root() -> Candidate {
    ours("allreduce/dual_root", Some(8192))
}

fn ring() -> Candidate {
    ours("allreduce/ring", None)
}

#[test]
fn candidates_are_compared_with_the_default() {
    let check = |ours: &[f64], default: &[f64], verdict, confidence| {
        let found = commutative(&[(dual_root(), ours), (Candidate::Default, default)]);
        assert_eq!(
            (found.verdict, found.confidence),
            (verdict, confidence),
            "{ours:?}"
        );
        let chosen = if verdict == Verdict::Fastest {
            dual_root()
        } else {
            Candidate::Default
        };
        assert_eq!(found.chosen, chosen, "{ours:?}");
    };
    use Confidence::{High, Low, Medium};
    check(&[0.5; 6], &[1.0; 6], Verdict::Fastest, High);
    check(&[0.5; 5], &[1.0; 5], Verdict::Fastest, Low);
    check(&[0.97; 6], &[1.0; 6], Verdict::Immaterial, High);
    check(&[1.2; 6], &[1.0; 6], Verdict::DefaultFastest, High);
    check(&[1.2; 3], &[1.0; 3], Verdict::DefaultFastest, Low);
    check(&[0.97; 3], &[1.0; 3], Verdict::Immaterial, Low);
    // One launch was slow as a whole, for both candidates.
    check(
        &[0.8, 0.8, 2.3, 0.8, 0.8, 0.8],
        &[1.0, 1.0, 2.8, 1.0, 1.0, 1.0],
        Verdict::Fastest,
        High,
    );
    // The candidate has the shorter median, but not significantly.
    let unsure = [0.7, 0.8, 0.8, 0.9, 1.2, 1.3];
    check(&unsure, &[1.0; 6], Verdict::WithinNoise, Medium);
    check(&unsure[1..], &[1.0; 5], Verdict::Fastest, Low);
    // An interval that includes 1 says neither that the default is faster nor that it is slower,
    // whatever the median.
    let around = [0.98, 1.0, 1.0, 1.1, 1.1, 0.9];
    check(&around, &[1.0; 6], Verdict::WithinNoise, Medium);
    let slower = [0.98, 1.01, 1.02, 1.03, 1.04, 1.05];
    check(&slower, &[1.0; 6], Verdict::WithinNoise, High);
    check(&slower[..3], &[1.0; 3], Verdict::WithinNoise, Low);
    let faster = [0.97, 0.97, 0.97, 0.98, 0.99, 1.01];
    check(&faster, &[1.0; 6], Verdict::WithinNoise, High);
    check(&faster[..5], &[1.0; 5], Verdict::Immaterial, Low);
}

#[test]
fn high_confidence_means_95_percent_in_all_campaigns() {
    let check = |ours: f64, launches: usize, asked: f64, confidence| {
        let (ours, default) = (vec![ours; launches], vec![1.0; launches]);
        let samples = launches_of(&ours, &default);
        let options = DecideOptions {
            confidence: asked,
            ..DecideOptions::default()
        };
        let found = &decided_with(&samples, &[], &options)[0];
        assert_eq!(found.confidence, confidence, "{launches} for {asked}");
    };
    use Confidence::{High, Low, Medium};
    // One candidate is chosen, the other is not.
    for ours in [0.5, 1.5] {
        check(ours, 3, 0.95, Low);
        check(ours, 3, 0.75, Medium);
        check(ours, 5, 0.9, Medium);
        check(ours, 6, 0.75, Medium);
        check(ours, 6, 0.95, High);
        check(ours, 6, 0.99, Low);
    }
}

fn launches_of(ours: &[f64], default: &[f64]) -> Vec<Sample> {
    let times = [(dual_root(), ours), (Candidate::Default, default)];
    launches(allreduce(4, CELL), &times)
}

#[test]
fn candidates_faster_only_by_their_median_do_not_set_the_standard() {
    // The ring has the shortest median, but does not beat the default significantly.
    let found = commutative(&[
        (Candidate::Default, &[1.0; 6]),
        (ring(), &[0.5, 0.5, 0.5, 0.5, 0.5, 1.2]),
        (dual_root(), &[0.8; 6]),
    ]);
    assert_eq!(
        (
            found.ranking[0].candidate.clone(),
            found.chosen,
            found.verdict
        ),
        (ring(), dual_root(), Verdict::NearFastest)
    );
    let text = Verdict::NearFastest.to_string();
    assert!(text.contains("the fastest that does"), "{text}");
}

#[test]
fn the_evidence_is_complete() {
    let found = commutative(&[
        (Candidate::Default, &[1.0; 6]),
        (ring(), &[0.8; 6]),
        (dual_root(), &[0.5, 0.5, 0.5, 0.5, 0.6, 0.4]),
    ]);
    let order: Vec<_> = found
        .ranking
        .iter()
        .map(|ranked| ranked.candidate.clone())
        .collect();
    assert_eq!(order, [dual_root(), ring(), Candidate::Default]);
    let [first, second, default] = &found.ranking[..] else {
        panic!("three")
    };
    let speedup = first.speedup.expect("paired");
    assert_eq!((speedup.median, speedup.launches), (2.0, 6));
    assert_eq!((first.behind_fastest, default.speedup), (0.0, None));
    assert!(
        (second.behind_fastest - 0.6).abs() < 1e-12,
        "{}",
        second.behind_fastest
    );
    assert!(first.acceptable && !second.acceptable && second.beats_default);
}

#[test]
fn noncommutative_operators_get_ordered_algorithms() {
    let times: [(Candidate, &[f64]); 3] = [
        (Candidate::Default, &[1.0; 6]),
        (ring(), &[0.4; 6]),
        (dual_root(), &[0.5; 6]),
    ];
    let of_sums = launches(allreduce(4, CELL), &times);
    let of_functions = launches(noncommutative(allreduce(4, CELL)), &times);
    let chosen = |samples: &[Sample]| -> Vec<_> {
        let decisions = decided(samples, &[]).into_iter();
        let choices = decisions.map(|decision| {
            let ranks_ring = decision.ranked(&ring()).is_some();
            (decision.operators, decision.chosen, ranks_ring)
        });
        choices.collect()
    };
    // Each class is decided from its own measurements.
    let commutative = (Operators::Commutative, ring(), true);
    let ordered = (Operators::Noncommutative, dual_root(), false);
    assert_eq!(chosen(&of_sums), std::slice::from_ref(&commutative));
    assert_eq!(chosen(&of_functions), std::slice::from_ref(&ordered));
    let both = [of_sums, of_functions].concat();
    assert_eq!(chosen(&both), [commutative, ordered]);
}

/// A library's algorithm that passes noncommutative operators on to another algorithm is not chosen for these operators
/// alone; it may be chosen in settings that hold for all operators.
#[test]
fn algorithms_that_pass_operators_on_are_not_chosen_for_noncommutative_operators() {
    let native = |id: &str| Candidate::Native {
        algorithm: format!("native:allreduce/{id}"),
        parameters: vocabulary::Parameters::default(),
    };
    let times: [(Candidate, &[f64]); 4] = [
        (Candidate::Default, &[1.0; 6]),
        (native("ring"), &[0.3; 6]),
        (native("rabenseifner"), &[0.4; 6]),
        (native("recursive_doubling"), &[0.5; 6]),
    ];
    let cell = allreduce(4, CELL);
    let samples = [
        launches(cell, &times),
        launches(noncommutative(cell), &times),
    ]
    .concat();
    let summaries = summarise_samples(&samples, Pattern::Together).expect("valid");
    let chosen = |library: &str, deployment| -> Vec<_> {
        let options = DecideOptions::default();
        let decisions = decide_cells(deployment, library, &summaries, &[], None, &options);
        let id = |candidate: &Candidate| candidate.id().to_owned();
        let decisions = decisions.iter();
        decisions.map(|d| (d.operators, id(&d.chosen))).collect()
    };
    let of = |operators, id: &str| (operators, id.to_owned());
    use Operators::{Any, Commutative, Noncommutative};
    let apart = [
        of(Commutative, "ring"),
        of(Noncommutative, "recursive_doubling"),
    ];
    assert_eq!(chosen("openmpi", Deployment::Colltune), apart);
    // The library's files do not distinguish operators.
    let together = [of(Any, "rabenseifner"), of(Commutative, "ring")];
    assert_eq!(chosen("openmpi", Deployment::Library), together);
    assert_eq!(chosen("mpich", Deployment::Library), apart);
}

/// A composition is ordered if its inner reduce is.
#[test]
fn noncommutative_operators_get_no_composition_of_an_unordered_reduce() {
    let composed = |reduce: &schedule::Algorithm| Candidate::Ours {
        algorithm: "allreduce/reduce_broadcast".to_owned(),
        parameters: vocabulary::Parameters {
            reduce: Some(reduce.id.to_owned()),
            ..vocabulary::Parameters::default()
        },
    };
    let reduces = || schedule::algorithms_of(schedule::Collective::Reduce);
    let unordered = reduces().find(|reduce| !reduce.ordered && !reduce.ordered_at_ends);
    let ordered = reduces().find(|reduce| reduce.ordered);
    let [unordered, ordered] =
        [unordered, ordered].map(|reduce| composed(reduce.expect("registered")));
    let times: [(Candidate, &[f64]); 3] = [
        (Candidate::Default, &[1.0; 6]),
        (unordered.clone(), &[0.4; 6]),
        (ordered.clone(), &[0.5; 6]),
    ];
    for (cell, expected) in [
        (allreduce(4, CELL), &unordered),
        (noncommutative(allreduce(4, CELL)), &ordered),
    ] {
        let decisions = decided(&launches(cell, &times), &[]);
        assert_eq!(
            decisions.iter().map(|d| &d.chosen).collect::<Vec<_>>(),
            [expected]
        );
    }
}

/// A reduce that is in order for the measured root, but not for every root, is not chosen.
#[test]
fn noncommutative_operators_get_reduces_that_are_ordered_for_every_root() {
    let cell = Cell {
        collective: schedule::Collective::Reduce,
        ..allreduce(4, CELL)
    };
    let ours =
        schedule::algorithms_of(schedule::Collective::Reduce).map(|algorithm| Candidate::Ours {
            algorithm: algorithm.name(),
            parameters: vocabulary::Parameters::default(),
        });
    let candidates: Vec<Candidate> = [Candidate::Default].into_iter().chain(ours).collect();
    let times: Vec<(Candidate, &[f64])> = candidates
        .iter()
        .map(|candidate| (candidate.clone(), &[1.0; 6][..]))
        .collect();
    let samples = [
        launches(cell, &times),
        launches(noncommutative(cell), &times),
    ];
    let decisions = decided(&samples.concat(), &[]);
    assert_eq!(decisions[1].operators, Operators::Noncommutative);
    for candidate in &candidates[1..] {
        let algorithm = schedule::find_algorithm(candidate.algorithm()).expect("registered");
        assert_eq!(
            decisions[1].ranked(candidate).is_some(),
            algorithm.ordered,
            "{candidate}"
        );
        assert!(decisions[0].ranked(candidate).is_some(), "{candidate}");
    }
}

#[test]
fn broadcasts_are_decided_once() {
    let cell = Cell {
        collective: schedule::Collective::Bcast,
        datatype: Datatype::Byte,
        operator: None,
        ..allreduce(4, CELL)
    };
    let chain = ours("bcast/chain", Some(4096));
    let times: [(Candidate, &[f64]); 2] =
        [(Candidate::Default, &[1.0; 6]), (chain.clone(), &[0.4; 6])];
    let decisions = decided(&launches(cell, &times), &[]);
    assert_eq!(decisions.len(), 1);
    assert_eq!(
        (decisions[0].operators, &decisions[0].chosen),
        (Operators::Any, &chain)
    );
}

#[test]
fn failed_and_unknown_candidates_are_not_chosen() {
    let unknown = ours("allreduce/telepathy", None);
    let times: [(Candidate, &[f64]); 4] = [
        (Candidate::Default, &[1.0; 6]),
        (ring(), &[0.4; 6]),
        (dual_root(), &[0.5; 6]),
        (unknown, &[0.1; 6]),
    ];
    let cell = allreduce(4, CELL);
    let samples = launches(cell, &times);
    let found = &decided(&samples, &[(Subject::Cell(cell), ring())])[0];
    assert_eq!(
        (&found.chosen, &found.failed[..]),
        (&dual_root(), &[ring()][..])
    );
    assert!(found.ranked(&ring()).is_none());

    // A failure elsewhere does not concern this cell.
    let elsewhere = Subject::Cell(allreduce(4, CELL * 2));
    assert_eq!(decided(&samples, &[(elsewhere, ring())])[0].chosen, ring());

    let failed_default = &decided(&samples, &[(Subject::Cell(cell), Candidate::Default)])[0];
    assert_eq!(
        (&failed_default.chosen, failed_default.verdict),
        (&Candidate::Default, Verdict::DefaultNotMeasured)
    );
}

/// With a single `double` the ring has one piece with data and three without; programs may have two `float`s.
#[test]
fn what_is_true_of_one_size_of_elements_alone_is_not_chosen() {
    let decide = |bytes: u64, datatype: Datatype, candidate: Candidate| {
        let cell = Cell {
            datatype,
            ..allreduce(4, bytes)
        };
        let times: [(Candidate, &[f64]); 2] =
            [(Candidate::Default, &[1.0; 6]), (candidate, &[0.5; 6])];
        let found = decided(&launches(cell, &times), &[]).remove(0);
        (found.chosen, found.verdict)
    };
    let kept = (Candidate::Default, Verdict::TypesDisagree);
    let chosen = (ring(), Verdict::Fastest);
    for (bytes, datatype, expected) in [
        (8, Datatype::Float64, &kept),
        (24, Datatype::Float64, &kept),
        (32, Datatype::Float64, &chosen),
        (8, Datatype::Float32, &kept),
        (16, Datatype::Float32, &chosen),
    ] {
        assert_eq!(
            &decide(bytes, datatype, ring()),
            expected,
            "{bytes} {datatype:?}"
        );
    }
    // It sends whole vectors.
    let whole = ours("allreduce/recursive_doubling", None);
    assert_eq!(
        decide(8, Datatype::Float64, whole.clone()),
        (whole, Verdict::Fastest)
    );
}

#[test]
fn without_common_launches_nothing_is_chosen() {
    let cell = Subject::Cell(allreduce(4, CELL));
    let samples = [
        sample(1, cell, &Candidate::Default, vec![1.0]),
        sample(2, cell, &ring(), vec![0.1]),
    ];
    let found = &decided(&samples, &[])[0];
    assert_eq!(
        (&found.chosen, found.verdict),
        (&Candidate::Default, Verdict::NoRival)
    );
}

/// The choices for commutative operators at ascending sizes, each given by its times.
fn choices(points: &[&[(Candidate, f64)]]) -> Vec<Candidate> {
    let mut samples = Vec::new();
    for (bytes, times) in (0..).map(|i| CELL << i).zip(points) {
        let times: Vec<(Candidate, [f64; 6])> = times
            .iter()
            .map(|(candidate, time)| (candidate.clone(), [*time; 6]))
            .collect();
        let times: Vec<(Candidate, &[f64])> = times
            .iter()
            .map(|(candidate, times)| (candidate.clone(), &times[..]))
            .collect();
        samples.extend(launches(allreduce(4, bytes), &times));
    }
    let mut decisions = decided(&samples, &[]);
    decisions.retain(|decision| decision.operators == Operators::Commutative);
    decisions
        .into_iter()
        .map(|decision| decision.chosen)
        .collect()
}

#[test]
fn neighbouring_sizes_share_a_choice_if_it_costs_nothing() {
    let block = |bytes| ours("allreduce/dual_root", Some(bytes));
    let default = (Candidate::Default, 1.0);
    // 8K is best at the first size, 16K at the last, and in between they differ by less than 1 %.
    let first = [default.clone(), (block(8192), 0.5), (block(16384), 0.6)];
    let middle = [default.clone(), (block(8192), 0.5), (block(16384), 0.504)];
    let last = [default.clone(), (block(8192), 0.6), (block(16384), 0.5)];
    assert_eq!(
        choices(&[&first, &middle, &middle, &last]),
        [block(8192), block(8192), block(8192), block(16384)]
    );
    // The fastest candidate of the first size does not get a rule for that size alone.
    assert_eq!(choices(&[&middle, &last]), [block(16384), block(16384)]);
    // Of equal candidates, the one with fewer blocks is chosen.
    assert_eq!(choices(&[&middle]), [block(16384)]);
    // Another algorithm that is significantly slower is not chosen, even if the difference is small.
    let other = [default, (block(8192), 0.5), (ring(), 0.504)];
    assert_eq!(choices(&[&other]), [block(8192)]);
}

#[test]
fn a_rule_is_saved_if_it_costs_less_than_the_limit() {
    let dual_root = || ours("allreduce/dual_root", Some(8192));
    let point = |ring_seconds: f64, root_seconds: f64| {
        [
            (Candidate::Default, 1.0),
            (ring(), ring_seconds),
            (dual_root(), root_seconds),
        ]
    };
    let (ring_wins, barely, clearly) = (point(0.5, 0.6), point(0.504, 0.5), point(0.51, 0.5));
    // Continuing with the ring costs 0.8 % in the first case and 2 % in the second.
    assert_eq!(
        choices(&[&ring_wins, &barely, &ring_wins]),
        [ring(), ring(), ring()]
    );
    assert_eq!(
        choices(&[&ring_wins, &clearly, &ring_wins]),
        [ring(), dual_root(), ring()]
    );
    // The fastest candidate is chosen where no rule would be saved.
    assert_eq!(choices(&[&barely, &barely]), [dual_root(), dual_root()]);
    // The default stays where the ring gains too little.
    let kept = [
        (Candidate::Default, 1.0),
        (ring(), 0.99),
        (dual_root(), 2.0),
    ];
    assert_eq!(
        choices(&[&ring_wins, &kept, &ring_wins]),
        [ring(), Candidate::Default, ring()]
    );
    // The default never replaces a candidate that beats it.
    let gains = [(Candidate::Default, 1.0), (ring(), 0.9), (dual_root(), 2.0)];
    assert_eq!(
        choices(&[&kept, &gains, &kept]),
        [Candidate::Default, ring(), Candidate::Default]
    );
}

#[test]
fn a_shorter_table_costs_at_most_max_regret() {
    let samples = |first: f64, second: f64| {
        [(CELL, 0.5, 0.6), (2 * CELL, first, second)].map(|(bytes, ring_seconds, root_seconds)| {
            let times = [[1.0; 6], [ring_seconds; 6], [root_seconds; 6]];
            let candidates = [Candidate::Default, ring(), dual_root()];
            let times: Vec<(Candidate, &[f64])> = candidates
                .into_iter()
                .zip(times.iter().map(|times| &times[..]))
                .collect();
            launches(allreduce(4, bytes), &times)
        })
    };
    let rules = |limit: f64| {
        let options = DecideOptions {
            max_regret: limit,
            ..DecideOptions::default()
        };
        let mut decisions = decided_with(&samples(0.515, 0.5).concat(), &[], &options);
        decisions.retain(|decision| decision.operators == Operators::Commutative);
        decisions.dedup_by_key(|decision| decision.chosen.clone());
        decisions.len()
    };
    assert_eq!([rules(0.0), rules(0.02), rules(0.04)], [2, 2, 1]);
}

/// A guided search compares the default with one rival after the other, so that it has more launches than each.
#[test]
fn the_launches_of_others_do_not_keep_a_candidate_from_being_chosen() {
    let check = |launches_of_ring: usize, wanted: u32, verdict: Verdict| {
        let ring_times = vec![0.67; launches_of_ring];
        let samples = launches(
            allreduce(4, CELL),
            &[(Candidate::Default, &[1.0; 13]), (ring(), &ring_times)],
        );
        let options = DecideOptions {
            launches: wanted,
            ..DecideOptions::default()
        };
        let found = &decided_with(&samples, &[], &options)[0];
        assert_eq!(found.verdict, verdict, "{launches_of_ring} of {wanted}");
        let is_chosen = verdict == Verdict::Fastest;
        assert_eq!(
            found.chosen == ring(),
            is_chosen,
            "{launches_of_ring} of {wanted}"
        );
    };
    check(6, 6, Verdict::Fastest);
    check(3, 6, Verdict::Fastest);
    check(2, 6, Verdict::TooFewLaunches);
    check(2, 3, Verdict::Fastest);
    check(1, 3, Verdict::TooFewLaunches);
    // More launches are wanted than were made.
    check(7, 60, Verdict::Fastest);
    check(6, 60, Verdict::TooFewLaunches);
}

#[test]
fn a_choice_must_be_good_for_every_datatype() {
    let double = allreduce(4, CELL);
    let single = Cell {
        datatype: Datatype::Float32,
        operator: Some(Operator::Max),
        ..double
    };
    let slow: [(Candidate, &[f64]); 2] = [(Candidate::Default, &[1.0; 6]), (ring(), &[1.5; 6])];
    let fast: [(Candidate, &[f64]); 2] = [(Candidate::Default, &[1.0; 6]), (ring(), &[0.5; 6])];
    let chosen = |single_times| {
        let mut samples = launches(double, &fast);
        samples.extend(launches(single, single_times));
        let decisions = decided(&samples, &[]);
        let found = decisions
            .iter()
            .find(|d| d.cell == double)
            .expect("decided");
        (found.chosen.clone(), found.verdict)
    };
    assert_eq!(chosen(&fast), (ring(), Verdict::Fastest));
    assert_eq!(chosen(&slow), (Candidate::Default, Verdict::TypesDisagree));
}

#[test]
fn regret_is_small_under_realistic_noise() {
    let sizes: Vec<u64> = (3..22).map(|exponent| 1 << exponent).collect();
    let truth = |candidate: &Candidate, bytes: u64| {
        let bytes = bytes as f64;
        match candidate.id() {
            // The library switches algorithms at a bad size.
            "default" if bytes < 32_768.0 => 1e-6 + 1.2e-9 * bytes,
            "default" => 9e-6 + 0.8e-9 * bytes,
            "recursive_doubling" => 1.02e-6 + 1.1e-9 * bytes,
            "ring" => 6e-6 + 0.6e-9 * bytes,
            _ => 3e-6 + 0.75e-9 * bytes,
        }
    };
    let candidates = [
        Candidate::Default,
        ours("allreduce/recursive_doubling", None),
        ring(),
        dual_root(),
    ];
    let (mut regrets, mut losses) = (Vec::new(), 0);
    for seed in 0..8 {
        let mut noise = Noise::realistic(seed);
        let mut samples = Vec::new();
        for launch in 1..=6 {
            let slow = if noise.factor(1.0) > 3.0 { 2.8 } else { 1.0 };
            for &bytes in &sizes {
                let subject = Subject::Cell(allreduce(8, bytes));
                for candidate in &candidates {
                    let seconds = slow * truth(candidate, bytes) * noise.factor(0.01);
                    let times = noise.repetitions(seconds, 30);
                    samples.push(sample(launch, subject, candidate, times));
                }
            }
        }
        for decision in decided(&samples, &[]) {
            let seconds = |candidate: &Candidate| truth(candidate, decision.cell.bytes);
            let admitted = decision
                .ranking
                .iter()
                .map(|ranked| seconds(&ranked.candidate));
            let best = admitted.fold(f64::INFINITY, f64::min);
            regrets.push(seconds(&decision.chosen) / best - 1.0);
            losses += u32::from(seconds(&decision.chosen) > seconds(&Candidate::Default));
        }
    }
    let mean = regrets.iter().sum::<f64>() / regrets.len() as f64;
    assert!(mean <= 0.02, "mean regret {mean}");
    assert_eq!(losses, 0, "cells that became slower than the default");
}

#[test]
fn the_placebo_is_compared_and_never_chosen() {
    let twice = [
        (Candidate::Placebo, &[0.5; 6][..]),
        (Candidate::Default, &[1.0; 6]),
    ];
    let found = commutative(&twice);
    assert_eq!(found.chosen, Candidate::Default);
    let samples = launches(allreduce(4, CELL), &twice);
    let summaries = summarise_samples(&samples, Pattern::Together).expect("valid");
    let about =
        fit::count_unusual_repetitions(&samples, &summaries, Pattern::Together, |_, _| true);
    let [(cell, ratio)] = &about.placebos[..] else {
        panic!("{about:?}");
    };
    assert_eq!((cell.bytes, ratio.median), (CELL, 0.5));
    assert_eq!(about.biased_cells().count(), 1);
    let sound = [
        (Candidate::Placebo, &[1.0, 0.9, 1.1, 1.0, 1.0, 1.0][..]),
        (Candidate::Default, &[1.0; 6]),
    ];
    let sound_samples = launches(allreduce(4, CELL), &sound);
    let sound_summaries = summarise_samples(&sound_samples, Pattern::Together).expect("valid");
    let about_sound = fit::count_unusual_repetitions(
        &sound_samples,
        &sound_summaries,
        Pattern::Together,
        |_, _| true,
    );
    assert_eq!(
        (
            about_sound.placebos.len(),
            about_sound.biased_cells().count()
        ),
        (1, 0)
    );
}

/// Stores of earlier versions may have times of several candidates with the same schedule.
#[test]
fn of_candidates_that_are_the_same_schedule_the_simplest_is_chosen() {
    let segmented = ours("allreduce/ring_segmented", Some(CELL));
    let both: [(Candidate, &[f64]); 3] = [
        (segmented.clone(), &[0.50; 6]),
        (ring(), &[0.55; 6]),
        (Candidate::Default, &[1.0; 6]),
    ];
    for ranks in [2, 4, 5] {
        let decisions = decided(&launches(allreduce(ranks, CELL), &both), &[]);
        assert_eq!(decisions[0].chosen, ring(), "{ranks} ranks");
        assert_eq!(
            decisions[0].ranking.len(),
            3,
            "all that was measured is shown"
        );
    }
    // If only the other candidate was measured, it is chosen.
    let alone = decided(
        &launches(allreduce(2, CELL), &[both[0].clone(), both[2].clone()]),
        &[],
    );
    assert_eq!(alone[0].chosen, segmented);
    // With blocks the schedule is a different one.
    let mut cut = both.clone();
    cut[0].0 = ours("allreduce/ring_segmented", Some(CELL / 8));
    let decisions = decided(&launches(allreduce(2, CELL), &cut), &[]);
    assert_eq!(decisions[0].chosen, cut[0].0);
}

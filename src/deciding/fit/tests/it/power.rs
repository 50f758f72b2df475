//! The error rate of choosing and confirming together, with fixed seeds, on complete data with independent noise for
//! each candidate in each launch.

use std::sync::LazyLock;

use fit::{
    Confirmation, DecideOptions, Exploration, FreshMeasurements, POWER, confirming_launches,
    confirming_power, detectable_gain, launches_with_one_contrary, summarise_samples,
};
use results::{Summary, Verdict};
use schedule::Collective;
use table::Deployment;
use vocabulary::{Candidate, Cell, CommShape, Datatype, Parameters, Pattern, Sample, Subject};

use crate::synthetic::{Noise, sample};

/// Cells that are decided.
const RUNS: u64 = 400;
/// Candidates beside the default.
const CANDIDATES: usize = 60;
/// Exploring launches.
const LAUNCHES: u32 = 6;
/// Standard deviation of the logarithm of a candidate's time in a launch.
const SIGMA: f64 = 0.05;

fn cell() -> Cell {
    Cell {
        collective: Collective::Bcast,
        shape: CommShape { nodes: 1, ppn: 4 },
        bytes: 4096,
        datatype: Datatype::Byte,
        operator: None,
        distribution: schedule::Distribution::Uniform,
    }
}

fn candidate(number: usize) -> Candidate {
    Candidate::Native {
        algorithm: format!("native:bcast/number_{number}"),
        parameters: Parameters::default(),
    }
}

/// A cell with known true times.
struct Truth {
    noise: Noise,
    /// The factor by which the last candidate is faster than the others.
    gain: f64,
    /// Launches so far.
    launches: u32,
}

impl Truth {
    /// One launch's samples of some candidates.
    fn launch(&mut self, candidates: &[Candidate]) -> Vec<Sample> {
        self.launches += 1;
        let samples = candidates.iter().map(|of| {
            let seconds = if *of == candidate(CANDIDATES - 1) {
                1e-5 / self.gain
            } else {
                1e-5
            };
            let seconds = seconds * self.noise.factor(SIGMA);
            sample(self.launches, Subject::Cell(cell()), of, vec![seconds; 3])
        });
        samples.collect()
    }

    /// The choice with several patterns of calls that have independent noise.
    fn decide(&mut self, patterns: usize) -> Candidate {
        let all: Vec<Candidate> = std::iter::once(Candidate::Default)
            .chain((0..CANDIDATES).map(candidate))
            .collect();
        let explored: Vec<Sample> = (0..LAUNCHES).flat_map(|_| self.launch(&all)).collect();
        let summaries = summarise_samples(&explored, Pattern::Together).expect("times");
        let options = DecideOptions::default();
        let grid = [cell()];
        let exploration = Exploration {
            library: "openmpi",
            summaries: &summaries,
            failures: &[],
            machine: None,
            options: &options,
            grid: &grid,
        };
        let mut samples = vec![(Pattern::Together, Vec::new()); patterns];
        loop {
            let fresh = FreshMeasurements::from_samples(&samples, &[], &options).expect("times");
            let confirmation = Confirmation::from_fresh_launches(exploration, &fresh);
            if confirmation.open.is_empty() {
                let decisions = confirmation.decisions(Deployment::Colltune);
                return decisions[0].chosen.clone();
            }
            for trial in confirmation.open.clone() {
                samples[trial.pattern]
                    .1
                    .extend(self.launch(&trial.candidates));
            }
        }
    }
}

/// The number of runs with a choice that passes.
fn count(patterns: usize, gain: f64, passes: impl Fn(&Candidate) -> bool) -> usize {
    let chosen = (0..RUNS).map(|seed| {
        let mut truth = Truth {
            noise: Noise::realistic(seed),
            gain,
            launches: 0,
        };
        truth.decide(patterns)
    });
    let count = chosen.filter(passes).count();
    println!("{patterns} patterns, gain {gain}: {count} of {RUNS}");
    count
}

#[test]
fn one_of_60_equal_candidates_rarely_replaces_the_default() {
    let replaces = |chosen: &Candidate| *chosen != Candidate::Default;
    let replaced = count(1, 1.0, replaces);
    assert!(replaced as f64 <= 0.05 * RUNS as f64, "{replaced}");
    assert!(count(2, 1.0, replaces) <= replaced);
}

#[test]
fn a_candidate_a_fifth_faster_than_60_others_is_found() {
    for patterns in [1, 2] {
        let found = count(patterns, 1.2, |chosen| *chosen == candidate(CANDIDATES - 1));
        assert!(found as f64 >= 0.95 * RUNS as f64, "{found}");
    }
}

/// The numbers are those in the function's documentation.
#[test]
fn the_launches_follow_from_the_confidence() {
    assert_eq!(confirming_launches(0.95), 6);
    assert_eq!(confirming_launches(0.99), 9);
    assert_eq!(confirming_launches(0.5), 3);
    assert_eq!(launches_with_one_contrary(0.95, true), 13);
    assert_eq!(launches_with_one_contrary(0.95, false), 9);
}

/// The verdict, and the launches wanted of each pattern as long as the finding is open, for the default's times divided
/// by the candidate's in each pattern.
fn finding(patterns: &[&[f64]]) -> (Verdict, Vec<u32>) {
    let calls = [Pattern::Together, Pattern::Repeated];
    let samples: Vec<(Pattern, Vec<Sample>)> = calls
        .into_iter()
        .zip(patterns)
        .map(|(pattern, ratios)| {
            let subject = Subject::Cell(cell());
            let of_launch = |(launch, ratio): (u32, &f64)| {
                [(Candidate::Default, *ratio), (candidate(0), 1.0)]
                    .map(|(of, seconds)| sample(launch, subject, &of, vec![seconds * 1e-5; 3]))
            };
            (pattern, (1..).zip(*ratios).flat_map(of_launch).collect())
        })
        .collect();
    let fresh = FreshMeasurements::from_samples(&samples, &[], &OPTIONS).expect("times");
    let confirmation = Confirmation::from_fresh_launches(exploration(), &fresh);
    let wanted = confirmation.open.iter().map(|trial| trial.wanted);
    let decisions = confirmation.decisions(Deployment::Colltune);
    let decision = &decisions[0];
    if decision.verdict == Verdict::Confirmed {
        let interval = decision.chosen_gain().expect("a gain").interval;
        assert!(interval.low > 1.0, "{interval:?}");
    }
    (decision.verdict, wanted.collect())
}

#[test]
fn an_interval_that_contains_1_confirms_nothing() {
    let faster = [1.2; 13];
    let one_slower = |launches: usize| -> Vec<f64> { [&[0.06], &faster[1..launches]].concat() };
    // In the own pattern.
    assert_eq!(finding(&[&faster[..5]]), (Verdict::Unconfirmed, vec![6]));
    assert_eq!(finding(&[&faster[..6]]), (Verdict::Confirmed, vec![]));
    assert_eq!(finding(&[&one_slower(6)]), (Verdict::Unconfirmed, vec![13]));
    assert_eq!(
        finding(&[&one_slower(12)]),
        (Verdict::Unconfirmed, vec![13])
    );
    assert_eq!(finding(&[&one_slower(13)]), (Verdict::Confirmed, vec![]));
    let two_slower = [&[0.9], &one_slower(6)[..]].concat();
    assert_eq!(finding(&[&two_slower]), (Verdict::NotConfirmed, vec![]));
    // In another pattern.
    let others = |ratios: &[f64]| finding(&[&faster[..6], ratios]);
    assert_eq!(others(&faster[..6]), (Verdict::Confirmed, vec![]));
    assert_eq!(others(&one_slower(6)), (Verdict::Unconfirmed, vec![9]));
    assert_eq!(others(&one_slower(9)), (Verdict::Confirmed, vec![]));
}

/// Another pattern contradicts only what the campaign's own pattern shows.
#[test]
fn patterns_disagree_only_where_one_of_them_confirms() {
    let slower = [0.9, 0.9];
    let faster = [1.2; 6];
    assert_eq!(finding(&[&faster, &slower]).0, Verdict::PatternsDisagree);
    assert_eq!(finding(&[&faster[..2], &slower]).0, Verdict::NotConfirmed);
    // Nothing differs: the ratios are noise.
    assert_eq!(
        finding(&[&[1.07, 1.09], &[0.98, 0.99]]).0,
        Verdict::NotConfirmed
    );
    assert_eq!(finding(&[&slower, &faster]).0, Verdict::NotConfirmed);
}

/// The probability that is computed and the share of simulated fresh launches that confirm agree.
#[test]
fn the_computed_power_is_that_of_simulated_launches() {
    const RUNS: u32 = 4000;
    let options = DecideOptions::default();
    for (gain, noise) in [
        (1.05, 0.03),
        (1.1, 0.05),
        (1.1, 0.1),
        (1.2, 0.1),
        (1.5, 0.2),
    ] {
        let mut noise_source = Noise::realistic(7);
        let confirmed = (0..RUNS)
            .filter(|_| confirm_by_hand(gain, noise, &mut noise_source, &options))
            .count();
        let share = confirmed as f64 / f64::from(RUNS);
        let computed = confirming_power(gain, noise, 1, &options);
        println!("gain {gain}, noise {noise}: {share:.3}, computed {computed:.3}");
        assert!(
            (share - computed).abs() < 0.03,
            "{gain} {noise}: {share} {computed}"
        );
    }
    let found = detectable_gain(0.1, 2, &options);
    assert!(confirming_power(found, 0.1, 2, &options) >= POWER);
    assert!(confirming_power(found / 1.01, 0.1, 2, &options) < POWER);
}

/// Compares a candidate with the default in one pattern of calls until the finding is clear.
fn confirm_by_hand(gain: f64, noise: f64, source: &mut Noise, options: &DecideOptions) -> bool {
    let rival = candidate(0);
    let mut samples = Vec::new();
    for launch in 1.. {
        let seconds = 1e-5 / (gain * source.factor(noise));
        let cell = Subject::Cell(cell());
        samples.push(sample(launch, cell, &Candidate::Default, vec![1e-5; 3]));
        samples.push(sample(launch, cell, &rival, vec![seconds; 3]));
        // Nothing is confirmed in between.
        if ![
            confirming_launches(0.95),
            launches_with_one_contrary(0.95, true),
        ]
        .contains(&launch)
        {
            continue;
        }
        let fresh =
            FreshMeasurements::from_samples(&[(Pattern::Together, samples.clone())], &[], options)
                .expect("times");
        let confirmation = Confirmation::from_fresh_launches(exploration(), &fresh);
        if confirmation.open.is_empty() {
            let decisions = confirmation.decisions(Deployment::Colltune);
            return decisions[0].chosen == rival;
        }
    }
    false
}

/// Exploring launches that propose the first candidate.
static EXPLORED: LazyLock<Vec<Summary>> = LazyLock::new(|| {
    let subject = Subject::Cell(cell());
    let samples: Vec<Sample> = (1..=LAUNCHES)
        .flat_map(|launch| {
            [(Candidate::Default, 2e-5), (candidate(0), 1e-5)]
                .map(|(of, seconds)| sample(launch, subject, &of, vec![seconds; 3]))
        })
        .collect();
    summarise_samples(&samples, Pattern::Together).expect("times")
});

static OPTIONS: LazyLock<DecideOptions> = LazyLock::new(DecideOptions::default);
static GRID: LazyLock<[Cell; 1]> = LazyLock::new(|| [cell()]);

fn exploration() -> Exploration<'static> {
    Exploration {
        library: "openmpi",
        summaries: &EXPLORED,
        failures: &[],
        machine: None,
        options: &OPTIONS,
        grid: &*GRID,
    }
}

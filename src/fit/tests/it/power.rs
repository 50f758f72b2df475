//! The error rate of choosing and confirming together, with fixed seeds, on complete data with independent noise for
//! each candidate in each launch.

use fit::{Confirmation, DecideOptions, Exploration, Fresh, confirming_launches, summarise};
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
            let seconds = match *of == candidate(CANDIDATES - 1) {
                true => 1e-5 / self.gain,
                false => 1e-5,
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
        let summaries = summarise(&explored, Pattern::Together).expect("times");
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
            let fresh = Fresh::of(&samples, &[], &options).expect("times");
            let confirmation = Confirmation::of(exploration, &fresh);
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
}

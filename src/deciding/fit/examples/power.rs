//! How often a true gain is confirmed, and how often a candidate that is as fast as the default replaces it, by
//! simulation: exploring launches, nomination and fresh launches, as a campaign makes them, with independent normal
//! noise of the logarithm of each time. Prints the table of docs/method.md.
//!
//! usage: cargo run --release -p fit --example power [RUNS] [SEED]

use std::env;
use std::error::Error;

use fit::{
    Confirmation, DecideOptions, Exploration, FreshMeasurements, confirming_power, detectable_gain,
    summarise_samples,
};
use schedule::Collective;
use table::Deployment;
use vocabulary::{Candidate, Cell, CommShape, Datatype, Parameters, Pattern, Sample, Subject};

/// The noise of ratios between launches.
const NOISES: [f64; 3] = [0.03, 0.05, 0.10];
/// True gains: the default's time divided by the candidate's.
const GAINS: [f64; 5] = [1.0, 1.05, 1.1, 1.2, 1.5];
/// The campaign's own pattern of calls, and repeated calls.
const PATTERNS: [Pattern; 2] = [Pattern::Together, Pattern::Repeated];
const LAUNCHES: u32 = 6;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let runs: u32 = arguments.next().map_or(Ok(2000), |text| text.parse())?;
    let seed: u64 = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let options = DecideOptions::default();
    println!(
        "{runs} runs of each, seed {seed}; in brackets: computed for the fresh launches alone\n"
    );
    let gains = GAINS.map(|gain| format!("{gain:.2}x"));
    println!("| noise | {} | found in 80 % |", gains.join(" | "));
    println!("| ---: |{} ---: |", " ---: |".repeat(GAINS.len()));
    for noise in NOISES {
        let mut row = format!("| {:.0} % |", noise * 100.0);
        for gain in GAINS {
            let mut machine = Machine {
                random: fastrand::Rng::with_seed(seed),
                noise,
                gain,
                launches: 0,
            };
            let mut confirmed = 0;
            for _ in 0..runs {
                confirmed += u32::from(machine.tune(&options)?);
            }
            let share = f64::from(confirmed) / f64::from(runs);
            let computed = confirming_power(gain, noise, PATTERNS.len(), &options);
            row += &format!(" {:.1} % ({:.1}) |", share * 100.0, computed * 100.0);
        }
        let found = detectable_gain(noise, PATTERNS.len(), &options);
        println!("{row} {found:.2}x |");
    }
    Ok(())
}

/// A machine on which one candidate is faster than the default by a known factor.
struct Machine {
    random: fastrand::Rng,
    /// The standard deviation of the logarithm of the ratio of both times in one launch.
    noise: f64,
    gain: f64,
    launches: u32,
}

impl Machine {
    /// Explores, proposes and confirms; returns whether the candidate replaces the default.
    fn tune(&mut self, options: &DecideOptions) -> Result<bool, Box<dyn Error>> {
        let candidates = [Candidate::Default, candidate()];
        let explored: Vec<Sample> = (0..LAUNCHES)
            .flat_map(|_| self.launch(&candidates))
            .collect();
        let summaries = summarise_samples(&explored, Pattern::Together)?;
        let exploration = Exploration {
            library: "openmpi",
            summaries: &summaries,
            failures: &[],
            machine: None,
            options,
            grid: &[cell()],
        };
        let mut samples = PATTERNS.map(|pattern| (pattern, Vec::new()));
        loop {
            let fresh = FreshMeasurements::from_samples(&samples, &[], options)?;
            let confirmation = Confirmation::from_fresh_launches(exploration, &fresh);
            if confirmation.open.is_empty() {
                let decisions = confirmation.decisions(Deployment::Colltune);
                return Ok(decisions[0].chosen == candidate());
            }
            for trial in confirmation.open.clone() {
                let (_, of_pattern) = &mut samples[trial.pattern];
                of_pattern.extend(self.launch(&trial.candidates));
            }
        }
    }

    /// One launch's samples of some candidates.
    fn launch(&mut self, candidates: &[Candidate]) -> Vec<Sample> {
        self.launches += 1;
        // The ratio of two times with this noise each has the noise wanted.
        let of_one = self.noise / 2.0_f64.sqrt();
        let samples = candidates.iter().map(|of| {
            let factor = (of_one * self.normal()).exp();
            let gain = if *of == candidate() { self.gain } else { 1.0 };
            Sample {
                launch: self.launches,
                subject: Subject::Cell(cell()),
                candidate: of.clone(),
                batch: 1,
                seconds: vec![1e-5 * factor / gain],
                invalid: 0,
                residual_seconds: None,
                left: None,
            }
        });
        samples.collect()
    }

    /// A normal number (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.random.f64()).ln()).sqrt();
        radius * (2.0 * std::f64::consts::PI * self.random.f64()).cos()
    }
}

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

fn candidate() -> Candidate {
    Candidate::Ours {
        algorithm: "bcast/linear".to_owned(),
        parameters: Parameters::default(),
    }
}

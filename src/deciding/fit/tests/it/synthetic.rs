//! Synthetic samples: a true time, log-normal noise, spikes, slow launches; all seeded.

use std::collections::BTreeMap;

use vocabulary::{Candidate, Cell, CommShape, Datatype, Operator, Parameters, Sample, Subject};

/// A source of noise that the seed determines.
pub(crate) struct Noise {
    rng: fastrand::Rng,
    /// Standard deviation of the logarithm.
    pub(crate) sigma: f64,
    /// Probability that a repetition takes ten times as long.
    pub(crate) spikes: f64,
    /// Standard deviation of the logarithm of the factor on a whole launch.
    pub(crate) launch_sigma: f64,
    /// Standard deviation of the logarithm of the factor on one subject in one launch.
    pub(crate) point_sigma: f64,
    launches: BTreeMap<u32, f64>,
}

impl Noise {
    /// 10 % log-normal noise and 1 % spikes; launches differ by 5 %, and so do the subjects of one.
    pub(crate) fn realistic(seed: u64) -> Self {
        Self {
            rng: fastrand::Rng::with_seed(seed),
            sigma: 0.1,
            spikes: 0.01,
            launch_sigma: 0.05,
            point_sigma: 0.05,
            launches: BTreeMap::new(),
        }
    }

    /// A factor with median 1.
    pub(crate) fn factor(&mut self, sigma: f64) -> f64 {
        // Box and Muller; the first uniform number must not be 0.
        let radius = (-2.0 * (1.0 - self.rng.f64()).ln()).sqrt();
        let normal = radius * (2.0 * std::f64::consts::PI * self.rng.f64()).cos();
        (sigma * normal).exp()
    }

    /// The time of a subject in a launch if its true time is `seconds`. All subjects of a launch have the same factor
    /// of the launch.
    pub(crate) fn in_launch(&mut self, launch: u32, seconds: f64) -> f64 {
        let new = self.factor(self.launch_sigma);
        let slowness = *self.launches.entry(launch).or_insert(new);
        seconds * slowness * self.factor(self.point_sigma)
    }

    /// The times of some repetitions of a subject with the true time `seconds`.
    pub(crate) fn repetitions(&mut self, seconds: f64, count: usize) -> Vec<f64> {
        (0..count)
            .map(|_| {
                let spike = if self.rng.f64() < self.spikes {
                    10.0
                } else {
                    1.0
                };
                seconds * spike * self.factor(self.sigma)
            })
            .collect()
    }
}

/// A cell of a double-precision sum, on one node.
pub(crate) fn allreduce(ppn: u32, bytes: u64) -> Cell {
    Cell {
        collective: schedule::Collective::Allreduce,
        shape: CommShape { nodes: 1, ppn },
        bytes,
        datatype: Datatype::Float64,
        operator: Some(Operator::Sum),
        distribution: schedule::Distribution::Uniform,
    }
}

/// The same with an operator that does not commute.
pub(crate) fn noncommutative(cell: Cell) -> Cell {
    Cell {
        operator: Some(Operator::Noncommutative),
        ..cell
    }
}

/// One of our algorithms, with a block size if given.
pub(crate) fn ours(algorithm: &str, block_bytes: Option<u64>) -> Candidate {
    Candidate::Ours {
        algorithm: algorithm.to_owned(),
        parameters: Parameters {
            block_bytes,
            ..Parameters::default()
        },
    }
}

/// A sample.
pub(crate) fn sample(
    launch: u32,
    subject: Subject,
    candidate: &Candidate,
    seconds: Vec<f64>,
) -> Sample {
    Sample {
        launch,
        subject,
        candidate: candidate.clone(),
        batch: 1,
        seconds,
        invalid: 0,
        residual_seconds: None,
        left: None,
    }
}

/// Samples of one cell without noise: each candidate with its times, one for each launch from 1 on.
pub(crate) fn launches(cell: Cell, times: &[(Candidate, &[f64])]) -> Vec<Sample> {
    let of_candidate = |(candidate, seconds): &(Candidate, &[f64])| {
        (1..)
            .zip(seconds.iter())
            .map(|(launch, time)| sample(launch, Subject::Cell(cell), candidate, vec![*time; 3]))
            .collect::<Vec<_>>()
    };
    times.iter().flat_map(of_candidate).collect()
}

//! Noise on simulated times.

use std::f64::consts::TAU;

use model::Noise;
use sha2::{Digest, Sha256};
use vocabulary::{Candidate, Pattern, Subject};

/// The disturbances of the repetitions of one candidate in one launch.
pub(crate) struct Disturbance {
    noise: Noise,
    /// The factor on all times of this launch.
    launch_factor: f64,
    draw: fastrand::Rng,
}

impl Disturbance {
    /// The noise of a candidate when it is measured for the `round`-th time, determined by the arguments.
    ///
    /// Whether the launch is slow depends only on seed and round.
    pub(crate) fn new(
        noise: Noise,
        (seed, round): (u64, u32),
        subject: &Subject,
        candidate: &Candidate,
        pattern: Pattern,
    ) -> Self {
        let mut launch = fastrand::Rng::with_seed(mix_seed(seed, round, ""));
        let name = match pattern {
            Pattern::Together => format!("{subject} {candidate}"),
            other => format!("{subject} {candidate} {other}"),
        };
        let is_slow = launch.f64() < noise.slow_launch_probability;
        Self {
            noise,
            launch_factor: if is_slow {
                noise.slow_launch_factor
            } else {
                1.0
            },
            draw: fastrand::Rng::with_seed(mix_seed(seed, round, &name)),
        }
    }

    /// The disturbed time of the next repetition, given its undisturbed time.
    pub(crate) fn disturbed_seconds(&mut self, seconds: f64) -> f64 {
        let spike = if self.draw.f64() < self.noise.spike_probability {
            self.noise.spike_factor
        } else {
            1.0
        };
        seconds * self.launch_factor * spike * (self.noise.jitter * self.draw_normal()).exp()
    }

    /// A standard normal deviate, after Box and Muller.
    fn draw_normal(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.draw.f64(), TAU * self.draw.f64());
        (-2.0 * radius.ln()).sqrt() * angle.cos()
    }
}

/// A seed that depends on all arguments, but not on the release of the compiler.
fn mix_seed(seed: u64, round: u32, text: &str) -> u64 {
    let digest = Sha256::new()
        .chain_update(seed.to_le_bytes())
        .chain_update(round.to_le_bytes())
        .chain_update(text)
        .finalize();
    digest
        .iter()
        .take(8)
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

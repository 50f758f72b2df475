//! Times of known distributions: log-normal noise, spikes, slow launches, drift; all seeded.

use std::f64::consts::TAU;

/// The disturbances of times; none by default.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noise {
    /// Standard deviation of the logarithm of each time.
    pub(crate) sigma: f64,
    /// Share of times that are ten times as long.
    pub(crate) spikes: f64,
    /// Standard deviation of the logarithm of the factor on one candidate in a whole launch.
    pub(crate) launch_sigma: f64,
    /// Share of launches in which everything takes 2.8 times as long.
    pub(crate) slow_launches: f64,
    /// The share by which all times grow from the start of a launch to its end.
    pub(crate) drift: f64,
    /// Standard deviation of the logarithm of the factor on one candidate for some rounds.
    pub(crate) mood_sigma: f64,
    /// The correlation of this factor from one round to the next.
    pub(crate) mood_memory: f64,
}

pub(crate) const QUIET: Noise = Noise {
    sigma: 0.0,
    spikes: 0.0,
    launch_sigma: 0.0,
    slow_launches: 0.0,
    drift: 0.0,
    mood_sigma: 0.0,
    mood_memory: 0.0,
};

/// All disturbances observed on real machines, at once.
pub(crate) const ROUGH: Noise = Noise {
    sigma: 0.2,
    spikes: 0.02,
    launch_sigma: 0.05,
    slow_launches: 0.125,
    drift: 0.5,
    ..QUIET
};

/// A source of random factors.
pub(crate) struct Draw(fastrand::Rng);

impl Draw {
    pub(crate) fn with_seed(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// A standard normal deviate, after Box and Muller.
    pub(crate) fn normal(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.0.f64(), TAU * self.0.f64());
        (-2.0 * radius.ln()).sqrt() * angle.cos()
    }

    /// A log-normal factor of median 1.
    pub(crate) fn factor(&mut self, sigma: f64) -> f64 {
        if sigma == 0.0 {
            return 1.0;
        }
        (sigma * self.normal()).exp()
    }

    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        self.0.f64() < probability
    }

    pub(crate) fn shuffle<T>(&mut self, values: &mut [T]) {
        self.0.shuffle(values);
    }

    /// The factor on a whole launch.
    pub(crate) fn launch(&mut self, noise: &Noise) -> f64 {
        if self.happens(noise.slow_launches) {
            2.8
        } else {
            1.0
        }
    }

    /// A repetition of a call that currently takes `seconds` on average.
    pub(crate) fn repetition(&mut self, seconds: f64, noise: &Noise) -> f64 {
        let spike = if self.happens(noise.spikes) {
            10.0
        } else {
            1.0
        };
        seconds * spike * self.factor(noise.sigma)
    }

    /// The median of `count` repetitions of a call with the true time `seconds`, in a launch with the factor `launch`.
    pub(crate) fn launch_median(
        &mut self,
        seconds: f64,
        launch: f64,
        count: usize,
        noise: &Noise,
    ) -> f64 {
        let seconds = seconds * launch * self.factor(noise.launch_sigma);
        let times: Vec<f64> = (0..count)
            .map(|i| {
                let drift = 1.0 + noise.drift * i as f64 / count as f64;
                self.repetition(seconds * drift, noise)
            })
            .collect();
        statistics::median(&times).expect("there are repetitions")
    }
}

//! Clocks that are wrong in known ways, and messages between them.

use benchmarking::clocks::{Clock, ClockLearning, Exchange, Nanoseconds, Offset};
use fastrand::Rng;

/// A clock as a function of the true time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Skew {
    pub(crate) offset_seconds: f64,
    pub(crate) drift: f64,
}

impl Skew {
    pub(crate) const NONE: Self = Self {
        offset_seconds: 0.0,
        drift: 0.0,
    };

    /// The reading at a true time.
    pub(crate) fn read(&self, time: Nanoseconds) -> Nanoseconds {
        time + (self.offset_seconds * 1e9) as Nanoseconds
            + (self.drift * time as f64).round() as Nanoseconds
    }
}

/// The delays of messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delays {
    /// The shortest delays there and back, in nanoseconds.
    pub(crate) least: [f64; 2],
    /// The mean of an exponential tail.
    pub(crate) tail: f64,
    /// The number of messages in a thousand that take 50 microseconds more.
    pub(crate) spikes: u32,
}

impl Delays {
    fn draw(&self, way: usize, rng: &mut Rng) -> Nanoseconds {
        let tail = -self.tail * (1.0 - rng.f64()).ln();
        let spike = if rng.u32(0..1000) < self.spikes {
            50_000.0
        } else {
            0.0
        };
        (self.least[way] + tail + spike) as Nanoseconds
    }
}

/// The true time, and a source of random numbers.
pub(crate) struct Machine {
    pub(crate) now: Nanoseconds,
    pub(crate) delays: Delays,
    pub(crate) rng: Rng,
}

impl Machine {
    pub(crate) fn new(delays: Delays, seed: u64) -> Self {
        Self {
            now: 1_000_000_000_000,
            delays,
            rng: Rng::with_seed(seed),
        }
    }

    /// A batch of exchanges with another clock.
    pub(crate) fn batch(&mut self, client: Skew, reference: Skew, count: usize) -> Vec<Exchange> {
        let mut one = || {
            let sent = client.read(self.now);
            self.now += self.delays.draw(0, &mut self.rng);
            let answered = reference.read(self.now);
            self.now += self.delays.draw(1, &mut self.rng);
            let received = client.read(self.now);
            Exchange {
                sent,
                answered,
                received,
            }
        };
        (0..count).map(|_| one()).collect()
    }

    /// Synchronises a client: 20 exchanges every 25 milliseconds.
    pub(crate) fn learn(&mut self, client: Skew, reference: Skew) -> Clock {
        let mut learning = ClockLearning::default();
        while learning.is_unfinished() {
            learning.add_batch(&self.batch(client, reference, 20));
            self.now += 25_000_000;
        }
        learning.learned_clock().expect("there were exchanges")
    }

    /// A fresh offset to another clock by ten exchanges.
    pub(crate) fn offset(&mut self, client: Skew, reference: Skew) -> Offset {
        Offset::by_shortest(&self.batch(client, reference, 10)).expect("there were exchanges")
    }

    /// The present error of a learned clock in seconds.
    pub(crate) fn error_seconds(&self, clock: &Clock, client: Skew, reference: Skew) -> f64 {
        let global = clock.global_time(client.read(self.now));
        benchmarking::clocks::span_in_seconds(global - reference.read(self.now)).abs()
    }
}

pub(crate) const QUIET: Delays = Delays {
    least: [1000.0, 1000.0],
    tail: 100.0,
    spikes: 0,
};

pub(crate) const NOISY: Delays = Delays {
    least: [1000.0, 1400.0],
    tail: 1000.0,
    spikes: 50,
};

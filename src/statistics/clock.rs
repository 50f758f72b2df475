//! What the clock can tell apart.

use std::time::Instant;

/// The properties of [`Instant`] on this machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// What reading it costs, in seconds.
    pub overhead_seconds: f64,
    /// The smallest step seen, in seconds.
    pub resolution_seconds: f64,
}

/// Reads the clock a few thousand times in a row.
pub fn examine() -> Clock {
    const READS: u32 = 10_000;
    let start = Instant::now();
    let mut last = start;
    let mut smallest = f64::INFINITY;
    for _ in 0..READS {
        let now = Instant::now();
        let step = (now - last).as_secs_f64();
        if step > 0.0 {
            smallest = smallest.min(step);
        }
        last = now;
    }
    let overhead_seconds = start.elapsed().as_secs_f64() / f64::from(READS);
    let seen = smallest.is_finite();
    Clock {
        overhead_seconds,
        resolution_seconds: if seen { smallest } else { overhead_seconds },
    }
}

//! The resolution of the clock.

use std::time::{Duration, Instant};

/// The properties of [`Instant`] on this machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockResolution {
    /// The time that one reading takes, in seconds.
    pub overhead_seconds: f64,
    /// The clock's step, in seconds; at least a nanosecond.
    pub resolution_seconds: f64,
}

/// Measures the overhead and the resolution of [`Instant`] by ten thousand readings in a row.
pub fn examine_clock() -> ClockResolution {
    const READS: u32 = 10_000;
    let mut readings = Vec::with_capacity(READS as usize + 1);
    let start = Instant::now();
    readings.push(start);
    for _ in 0..READS {
        readings.push(Instant::now());
    }
    let overhead_seconds = start.elapsed().as_secs_f64() / f64::from(READS);
    let steps = readings.windows(2).map(|pair| pair[1] - pair[0]);
    let resolution = clock_step(steps.collect());
    ClockResolution {
        overhead_seconds,
        resolution_seconds: resolution.map_or(overhead_seconds, |step| step.as_secs_f64()),
    }
}

/// The step of a clock, from the times between successive readings; `None` if the clock never advanced.
///
/// If the step is shorter than a reading takes, the times have all lengths, nanosecond by nanosecond. If it is
/// longer, they are multiples of the step, each rounded down or up.
fn clock_step(mut steps: Vec<Duration>) -> Option<Duration> {
    const NANOSECOND: Duration = Duration::from_nanos(1);
    /// The fewest consecutive lengths that rounding cannot produce.
    const ROW: usize = 4;
    steps.retain(|step| !step.is_zero());
    steps.sort_unstable();
    steps.dedup();
    let is_row = |lengths: &[Duration]| lengths[ROW - 1] - lengths[0] < ROW as u32 * NANOSECOND;
    if steps.windows(ROW).any(is_row) {
        Some(NANOSECOND)
    } else {
        steps.first().copied()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::clock_step;

    #[test]
    fn the_step_is_told_from_the_cost_of_reading() {
        let check = |nanoseconds: &[u64], expected: Option<u64>| {
            let steps = nanoseconds.iter().map(|&n| Duration::from_nanos(n));
            let expected = expected.map(Duration::from_nanos);
            assert_eq!(clock_step(steps.collect()), expected, "{nanoseconds:?}");
        };
        // A clock with steps of 1 ns; a reading takes 20 ns and more.
        check(&[22, 20, 21, 23, 21, 20, 800, 24], Some(1));
        // A clock of 24 MHz, read within a step and over several steps.
        check(&[0, 41, 42, 42, 0, 83, 84, 125, 41], Some(41));
        // A clock that counts microseconds.
        check(&[0, 0, 1000, 0, 2000, 1000], Some(1000));
        check(&[0, 0], None);
        check(&[], None);
    }
}

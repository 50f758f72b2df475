//! Computation beside nonblocking calls.
//!
//! It is arithmetic in registers, so that it competes with messages for neither memory nor caches, and a fixed number of
//! steps, not a time: what a library's own threads or a lost core take away from it counts as not hidden. Between its parts
//! the request is tested, as programs do that want messages to go on: without that, hardly any library does anything beside
//! computation, and the pattern would repeat what [`vocabulary::Pattern::Nonblocking`] shows.

use std::hint::black_box;
use std::time::Instant;

use exec::ExecError;

/// The number of parts of the computation beside a call; the request is tested between them.
const PARTS: u64 = 8;

/// The number of trials by which the speed is found, and the steps of each, about 100 us.
const TRIALS: usize = 20;
const STEPS_OF_TRIAL: u64 = 40_000;

/// The computation that this process can do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Computation {
    /// Without disturbance.
    steps_per_second: f64,
}

impl Computation {
    /// Measures how fast this process computes: the fastest trial counts, as any other was disturbed.
    pub(crate) fn calibrate() -> Self {
        let mut shortest_seconds = f64::INFINITY;
        for _ in 0..TRIALS {
            let start = Instant::now();
            take_steps(STEPS_OF_TRIAL);
            shortest_seconds = shortest_seconds.min(start.elapsed().as_secs_f64());
        }
        Self {
            steps_per_second: STEPS_OF_TRIAL as f64 / shortest_seconds.max(1e-9),
        }
    }

    /// The steps that take a time, in seconds, at full speed.
    pub(crate) fn steps_in(self, seconds: f64) -> u64 {
        (seconds.max(0.0) * self.steps_per_second) as u64
    }
}

/// Takes some steps in parts, and calls `test` between them until it returns true.
#[inline]
pub(crate) fn compute_beside(
    steps: u64,
    mut test: impl FnMut() -> Result<bool, ExecError>,
) -> Result<(), ExecError> {
    let mut has_ended = false;
    for part in 0..PARTS {
        take_steps(steps / PARTS);
        if part + 1 < PARTS && !has_ended {
            has_ended = test()?;
        }
    }
    Ok(())
}

/// Each step depends on the one before, so processors take as long for it as for two operations.
#[inline(never)]
fn take_steps(steps: u64) {
    let mut value = black_box(1.0_f64);
    for _ in 0..steps {
        value = value * 0.999 + 0.001;
    }
    black_box(value);
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::{Computation, PARTS, compute_beside};

    #[test]
    fn steps_take_the_time_that_they_were_chosen_for() {
        let computation = Computation::calibrate();
        let steps = computation.steps_in(2e-3);
        let shortest = (0..20).map(|_| {
            let start = Instant::now();
            compute_beside(steps, || Ok(false)).expect("no call");
            start.elapsed().as_secs_f64()
        });
        let shortest = shortest.fold(f64::INFINITY, f64::min);
        // The processor may have changed its frequency.
        assert!((0.5e-3..8e-3).contains(&shortest), "{shortest}");
        assert_eq!(computation.steps_in(-1.0), 0);
    }

    #[test]
    fn requests_are_tested_until_they_have_ended() {
        let tests_until = |ended_by: u64| {
            let mut tests = 0;
            let test = || {
                tests += 1;
                Ok(tests >= ended_by)
            };
            compute_beside(80, test).expect("no call");
            tests
        };
        assert_eq!(tests_until(3), 3);
        assert_eq!(tests_until(100), PARTS - 1);
    }
}

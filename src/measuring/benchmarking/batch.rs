//! The number of calls in a repetition: batches of calls that are too short for the clock, and blocks of repeated
//! calls.

use statistics::clock::ClockResolution;

/// The fewest steps of the clock that a repetition should last: its end is then known to 2 %.
const STEPS: f64 = 50.0;

/// The most calls in a batch.
const MOST_CALLS: u32 = 1024;

/// The fewest calls in a block of repeated calls.
const LEAST_OF_BLOCK: u32 = 20;

/// The shortest time that a block should take, in seconds.
const BLOCK_SECONDS: f64 = 200e-6;

/// The most calls in a block.
const MOST_OF_BLOCK: u32 = 4096;

/// The number of calls that are timed together, without any barrier, if one takes about `call_seconds`: 1 if it lasts
/// 50 steps of the clock, otherwise the power of two from which they do, at most 1024, even if the measured time is 0.
///
/// The number is a power of two because each launch makes its own estimate of the time of a call: with arbitrary whole
/// numbers two launches would rarely agree, and their times could not be compared.
///
/// All ranks need the same number. They agree on it by using the slowest rank's time and the coarsest clock, since
/// ranks may run on different machines.
///
/// The calls of a batch follow each other without a barrier, so a rank may begin the next one while others are still in
/// this one. Such a time is a rate of calls; for collectives that only pass data on, such as a broadcast, it is shorter
/// than the time of one call. The number must be recorded, and only batches with the same number of calls can be
/// compared.
///
/// ```
/// use statistics::clock::ClockResolution;
///
/// let clock = ClockResolution { overhead_seconds: 20e-9, resolution_seconds: 40e-9 };
/// assert_eq!(benchmarking::batch::calls_per_batch(5e-6, &clock), 1);
/// assert_eq!(benchmarking::batch::calls_per_batch(0.3e-6, &clock), 8);
/// ```
pub fn calls_per_batch(call_seconds: f64, clock: &ClockResolution) -> u32 {
    let least_seconds = STEPS * clock.resolution_seconds;
    if !(least_seconds > 0.0 && least_seconds.is_finite()) {
        // The steps of a clock that has not been observed to move are unknown.
        return 1;
    }
    // The quotient of 2.4 and 0.3 is a little more than 8.
    let calls = (least_seconds / call_seconds.max(0.0) * (1.0 - 1e-9)).ceil();
    let calls = calls.clamp(1.0, f64::from(MOST_CALLS)) as u32;
    calls.next_power_of_two()
}

/// The number of calls in a block of repeated calls, of which one takes about `call_seconds`.
///
/// It is 20 or, if 20 calls do not last 200 us and 50 steps of the clock, the power of two from which they do, with a
/// maximum of 4096. It is halved, down to 1, as long as two such blocks of calls of `slowest_seconds` would last longer
/// than `most_seconds`.
///
/// All ranks, candidates and launches need the same number, as in [`calls_per_batch`].
///
/// ```
/// use statistics::clock::ClockResolution;
///
/// let clock = ClockResolution { overhead_seconds: 20e-9, resolution_seconds: 40e-9 };
/// assert_eq!(benchmarking::batch::calls_per_block(1e-3, 1e-3, 10.0, &clock), 20);
/// assert_eq!(benchmarking::batch::calls_per_block(2e-6, 1e-3, 10.0, &clock), 128);
/// assert_eq!(benchmarking::batch::calls_per_block(1e-3, 1.0, 10.0, &clock), 5);
/// ```
pub fn calls_per_block(
    call_seconds: f64,
    slowest_seconds: f64,
    most_seconds: f64,
    clock: &ClockResolution,
) -> u32 {
    let steps_seconds = STEPS * clock.resolution_seconds;
    let least_seconds = if steps_seconds.is_finite() {
        BLOCK_SECONDS.max(steps_seconds)
    } else {
        BLOCK_SECONDS
    };
    let calls = (least_seconds / call_seconds.max(0.0) * (1.0 - 1e-9)).ceil();
    let mut calls = match calls.min(f64::from(MOST_OF_BLOCK)) as u32 {
        ..=LEAST_OF_BLOCK => LEAST_OF_BLOCK,
        more => more.next_power_of_two(),
    };
    while calls > 1 && 2.0 * f64::from(calls) * slowest_seconds > most_seconds {
        calls /= 2;
    }
    calls
}

/// The time of a call in seconds, from that of a batch of `calls` calls.
pub fn seconds_a_call(batch_seconds: f64, calls: u32) -> f64 {
    batch_seconds / f64::from(calls.max(1))
}

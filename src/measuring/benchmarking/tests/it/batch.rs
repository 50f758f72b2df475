//! The number of calls in a repetition.

use benchmarking::batch::{calls_per_batch, seconds_a_call};
use proptest::prelude::*;
use statistics::clock::ClockResolution;

const fn clock(resolution_seconds: f64) -> ClockResolution {
    ClockResolution {
        overhead_seconds: 20e-9,
        resolution_seconds,
    }
}

#[test]
fn short_calls_are_batched() {
    let check = |call_seconds, resolution_seconds, expected| {
        let found = calls_per_batch(call_seconds, &clock(resolution_seconds));
        assert_eq!(found, expected, "{call_seconds} s");
    };
    check(1.0, 1e-9, 1);
    check(50e-9, 1e-9, 1);
    check(49e-9, 1e-9, 2);
    check(0.3e-6, 48e-9, 8);
    check(0.3e-6, 42e-9, 8);
    check(0.25e-6, 42e-9, 16);
    check(1e-6, 1e-6, 64);
    check(1e-6, 1e-3, 1024);
    check(0.0, 1e-9, 1024);
    check(-1.0, 1e-9, 1024);
    check(f64::NAN, 1e-9, 1024);
    check(1e-6, 0.0, 1);
    check(1e-6, f64::INFINITY, 1);
    check(1e-6, f64::NAN, 1);
}

#[test]
fn the_time_of_a_batch_is_divided_by_its_calls() {
    assert_eq!(seconds_a_call(7e-6, 7), 1e-6);
    assert_eq!(seconds_a_call(7e-6, 0), 7e-6);
}

proptest! {
    #[test]
    fn a_batch_is_as_long_as_it_must_be_and_no_longer(
        call_seconds in 1e-10..1e-3,
        resolution_seconds in 1e-10..1e-5,
    ) {
        let found = calls_per_batch(call_seconds, &clock(resolution_seconds));
        let steps = |calls: u32| f64::from(calls) * call_seconds / resolution_seconds;
        prop_assert!((1..=1024).contains(&found) && found.is_power_of_two());
        prop_assert!(found == 1024 || steps(found) >= 50.0 * (1.0 - 1e-8));
        prop_assert!(found == 1 || steps(found / 2) < 50.0);
    }
}

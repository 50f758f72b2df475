//! Clocks that have become wrong are noticed, correct ones are kept.

use benchmarking::clocks::{Clock, Offset};

use super::machine::{Machine, NOISY, QUIET, Skew};

const SKEW: Skew = Skew {
    offset_seconds: 1.0,
    drift: 30e-6,
};

#[test]
fn correct_clocks_are_kept() {
    for seed in 0..200 {
        let mut machine = Machine::new(NOISY, seed);
        let clock = machine.learn(SKEW, Skew::NONE);
        let fresh = machine.offset(SKEW, Skew::NONE);
        assert!(!clock.is_stale(&fresh, 0.0), "seed {seed}: {fresh:?}");
    }
}

#[test]
fn jumps_and_changed_drifts_are_noticed() {
    let check = |jump_seconds: f64, drift_change: f64, expected| {
        let mut machine = Machine::new(QUIET, 1);
        let clock = machine.learn(SKEW, Skew::NONE);
        let since = machine.now;
        machine.now += 1_000_000_000;
        // The clock continues from its present reading at another rate.
        let changed = Skew {
            offset_seconds: SKEW.offset_seconds + jump_seconds
                - drift_change * benchmarking::clocks::span_in_seconds(since),
            drift: SKEW.drift + drift_change,
        };
        let fresh = machine.offset(changed, Skew::NONE);
        assert_eq!(
            clock.is_stale(&fresh, 0.0),
            expected,
            "{jump_seconds:e} {drift_change:e}: {fresh:?}"
        );
        if expected {
            assert!(!clock.is_stale(&fresh, 1.0), "the error is the reference's");
        }
    };
    check(0.0, 0.0, false);
    check(5e-6, 0.0, true);
    check(-5e-6, 0.0, true);
    check(0.0, 5e-6, true);
    check(0.0, -5e-6, true);
}

#[test]
fn a_clock_is_checked_again_before_its_drift_may_matter() {
    let check = |drift_error, age_seconds, expected| {
        let actual = Clock::may_have_gone_astray(drift_error, age_seconds);
        assert_eq!(actual, expected, "{drift_error:e} {age_seconds}");
    };
    check(1e-6, 0.4, false);
    check(1e-6, 0.6, true);
    check(0.0, 1e6, false);
    check(f64::INFINITY, 1e-3, true);
    check(f64::INFINITY, 0.0, false);
}

#[test]
fn the_residual_is_the_disagreement_and_the_uncertainty_of_the_round_trip() {
    let fresh = Offset {
        at: 1000,
        offset: -3000,
        half_round_trip: 500,
    };
    let disagreement = Clock::GLOBAL.disagreement_seconds(&fresh);
    assert!((disagreement - 3e-6).abs() < 1e-12, "{disagreement:e}");
    let residual = Clock::GLOBAL.residual_seconds(&fresh);
    assert!((residual - 3.5e-6).abs() < 1e-12, "{residual:e}");
}

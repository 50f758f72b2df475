//! The end of a candidate's repetitions, and the length of its turns.

use benchmarking::{Progress, has_settled};
use vocabulary::Repetition;

const WANTED: Repetition = Repetition {
    minimum: 10,
    maximum: 1000,
    precision: 0.03,
    confidence: 0.95,
    slice_seconds: 1.0,
};

const PATIENCE_SECONDS: f64 = 60.0;

/// Whether these repetitions are enough when they come in five turns.
fn enough(seconds: &[f64], spent: f64) -> bool {
    let mut progress = Progress::default();
    for turn in seconds.chunks(seconds.len().div_ceil(5)) {
        progress.add_turn(turn, spent / 5.0);
    }
    progress.is_enough(&WANTED)
}

fn after(turns: u32) -> Progress {
    let mut progress = Progress::default();
    for _ in 0..turns {
        progress.add_turn(&[], 0.0);
    }
    progress
}

#[test]
fn steady_times_stop_at_the_minimum_and_noisy_ones_at_slice_or_maximum() {
    let noisy = |count: usize| {
        (0..count)
            .map(|i| 1e-6 * (1 + i % 7) as f64)
            .collect::<Vec<_>>()
    };
    assert!(!enough(&[1e-6; 9], 0.0));
    assert!(enough(&[1e-6; 10], 0.0));
    assert!(!enough(&noisy(100), 0.5));
    assert!(enough(&noisy(100), 1.0));
    assert!(!enough(&noisy(9), 1.0));
    assert!(enough(&noisy(1000), 0.5));
}

#[test]
fn steady_times_need_turns_unless_slice_or_maximum_is_used_up() {
    let check = |count, spent, turns: u32, expected| {
        let mut progress = after(turns - 1);
        progress.add_turn(&vec![1e-6; count], spent);
        assert_eq!(progress.is_enough(&WANTED), expected, "{count} in {turns}");
    };
    check(100, 0.0, 4, false);
    check(100, 0.0, 5, true);
    check(100, 1.0, 1, true);
    check(1000, 0.0, 1, true);
    check(9, 1.0, 5, false);
}

#[test]
fn the_rest_follows_from_the_interval_the_slice_and_the_maximum() {
    // The 40th and the 61st of these are 0.0424 apart; with twice as many repetitions it would be 0.03.
    let times: Vec<f64> = (0..100).map(|i| 0.9 + 0.2 * f64::from(i) / 99.0).collect();
    let check = |spent, maximum, expected: f64| {
        let mut progress = Progress::default();
        progress.add_turn(&times, spent);
        let (repetitions, seconds) = progress.expected_rest(&Repetition { maximum, ..WANTED });
        assert!((repetitions - expected).abs() < 1.0, "{repetitions}");
        assert!((seconds - repetitions * spent / 100.0).abs() < 1e-9);
    };
    check(0.01, 1000, 100.0);
    check(0.01, 150, 50.0);
    check(0.8, 1000, 25.0);
    check(2.0, 1000, 0.0);
    assert_eq!(Progress::default().expected_rest(&WANTED), (0.0, 0.0));
}

#[test]
fn turns_fit_in_a_tenth_of_the_slice() {
    let check = |turns, estimate, expected| {
        let calls = after(turns).turn_repetitions(estimate, &WANTED, PATIENCE_SECONDS);
        assert_eq!(calls, expected, "{estimate} s after {turns} turns");
    };
    check(5, 10e-3, 10);
    check(5, 1e-6, 100);
    check(5, 10.0, 1);
    check(0, 10e-3, 10);
    check(0, 10.0, 1);
}

#[test]
fn the_first_turns_are_short() {
    let check = |minimum, maximum, turns, expected| {
        let wanted = Repetition {
            minimum,
            maximum,
            ..WANTED
        };
        let calls = after(turns).turn_repetitions(1e-6, &wanted, PATIENCE_SECONDS);
        assert_eq!(
            calls, expected,
            "{minimum} to {maximum} after {turns} turns"
        );
    };
    check(10, 1000, 0, 20);
    check(10, 1000, 4, 20);
    check(10, 1000, 5, 100);
    check(200, 1000, 0, 40);
    check(2000, 9000, 0, 100);
    check(10, 30, 0, 6);
    check(1, 1, 0, 1);
    check(0, 0, 0, 1);
}

#[test]
fn turns_end_long_before_the_watchdog_acts() {
    let wanted = Repetition {
        slice_seconds: 600.0,
        ..WANTED
    };
    let check = |estimate, expected| {
        assert_eq!(after(5).turn_repetitions(estimate, &wanted, 20.0), expected);
    };
    check(1.0, 5);
    check(0.5, 10);
    check(10.0, 1);
}

#[test]
fn warming_up_ends_when_medians_agree() {
    assert!(has_settled(&[1.0, 1.0, 9.0], &[1.05, 1.0, 1.05]));
    assert!(!has_settled(&[2.0, 2.0], &[1.0, 1.0]));
    assert!(!has_settled(&[], &[1.0]));
}

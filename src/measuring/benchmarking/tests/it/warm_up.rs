//! The end of warm-up, on times that settle.

use benchmarking::has_settled;

use crate::synthetic::{Draw, Noise, QUIET};

/// Warms up a candidate with calls of `1 + 2 exp(-call / decay)` as the measuring program does, in at most 8 turns of
/// 1, 25, 25, ... calls. Returns the number of turns and the remaining slowness of calls.
fn warm_up(decay: f64, sigma: f64, seed: u64) -> (usize, f64) {
    let noise = Noise { sigma, ..QUIET };
    let mut draw = Draw::with_seed(seed);
    let excess = |call: usize| 2.0 * (-(call as f64) / decay).exp();
    let (mut call, mut before) = (0, Vec::new());
    for turn in 1..=8 {
        let calls = if turn == 1 { 1 } else { 25 };
        let seconds: Vec<f64> = (call..call + calls)
            .map(|call| draw.repetition(1.0 + excess(call), &noise))
            .collect();
        call += calls;
        if has_settled(&before, &seconds) {
            return (turn, excess(call));
        }
        before = seconds;
    }
    (8, excess(call))
}

/// The largest remaining slowness in a hundred trials.
fn most_left(decay: f64, sigma: f64) -> f64 {
    let left = (0..100).map(|seed| warm_up(decay, sigma, seed).1);
    left.fold(0.0, f64::max)
}

#[test]
fn calls_that_settle_within_two_turns_count_as_settled() {
    for (decay, sigma) in [(1.0, 0.05), (5.0, 0.05), (10.0, 0.05), (10.0, 0.2)] {
        let left = most_left(decay, sigma);
        println!(
            "settles over {decay} calls: {:.1} % left at most",
            100.0 * left
        );
        assert!(left < 0.03, "{decay}, {sigma}: {left}");
    }
    // A steady time needs one turn to be compared with.
    assert_eq!(warm_up(1e-9, 0.05, 1).0, 3);
}

/// Times that change by less than a tenth from turn to turn count as settled, however much they still change later.
/// This test records that limit of comparing two turns.
#[test]
fn slowly_settling_calls_count_as_settled_too_early() {
    let left = [25.0, 50.0, 100.0, 400.0].map(|decay| {
        let left = most_left(decay, 0.0);
        println!(
            "settles over {decay} calls: {:.1} % left at most",
            100.0 * left
        );
        left
    });
    assert!(left[0] < 0.05 && left[1] < 0.1, "{left:?}");
    assert!(left[2] > 1.0 && left[3] > 1.0, "{left:?}");
}

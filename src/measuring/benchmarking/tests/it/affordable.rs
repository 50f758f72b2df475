//! Candidates that a cell cannot afford.

use benchmarking::{is_hopeless, is_too_slow};
use vocabulary::Repetition;

#[test]
fn only_calls_slow_by_the_clock_the_slice_and_other_candidates_are_left_out() {
    let check = |call, fastest, slice_seconds, expected| {
        let wanted = Repetition {
            minimum: 10,
            maximum: 100,
            precision: 0.03,
            confidence: 0.95,
            slice_seconds,
        };
        let found = is_too_slow(call, fastest, &wanted);
        assert_eq!(found, expected, "{call} s, others {fastest} s");
        assert_eq!(is_hopeless(10.0 * call, fastest, &wanted), expected);
    };
    check(1.5, 1e-3, 0.01, true);
    check(0.5, 1e-6, 0.01, false);
    check(1.5, 1e-3, 0.2, false);
    check(2.5, 1e-3, 0.2, true);
    check(60.0, 4.0, 0.2, false);
    check(90.0, 4.0, 0.2, true);
    check(90.0, f64::INFINITY, 0.2, false);
}

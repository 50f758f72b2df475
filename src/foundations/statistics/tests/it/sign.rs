//! Sign tests, one or many at a time.

use statistics::{holm_rejections, sign_test, values_for_sign_test};

#[test]
fn sign_tests_are_tails_of_the_binomial_distribution() {
    let check = |above, count, expected: f64| {
        let found = sign_test(above, count);
        assert!(
            (found - expected).abs() < 1e-12,
            "{above} of {count}: {found}"
        );
    };
    check(0, 0, 1.0);
    check(0, 5, 1.0);
    check(5, 5, 1.0 / 32.0);
    check(7, 8, 9.0 / 256.0);
    check(3, 4, 5.0 / 16.0);
    check(2, 3, 0.5);
    // A count of successes above the total counts as the total.
    check(9, 5, 1.0 / 32.0);
    assert!(sign_test(600, 1000) < 1e-9 && sign_test(600, 1000) > 0.0);
}

#[test]
fn a_stricter_level_or_more_contrary_values_need_more_values() {
    assert_eq!(values_for_sign_test(0.05, 0), 5);
    assert_eq!(values_for_sign_test(0.05, 1), 8);
    assert_eq!(values_for_sign_test(0.05 / 3.0, 1), 10);
    assert_eq!(values_for_sign_test(0.05 / 36.0, 1), 14);
    // At the border the level is attained.
    assert_eq!(values_for_sign_test(1.0 / 32.0, 0), 5);
    assert_eq!(values_for_sign_test(1.0, 0), 1);
}

#[test]
fn holm_stops_at_the_first_hypothesis_that_is_not_rejected() {
    assert!(holm_rejections(&[], 0.05).is_empty());
    assert_eq!(holm_rejections(&[0.05], 0.05), [true]);
    assert_eq!(holm_rejections(&[0.04, 0.02], 0.05), [true, true]);
    assert_eq!(holm_rejections(&[0.04, 0.03], 0.05), [false, false]);
    // The third would be small enough for its own step; the second was not.
    assert_eq!(
        holm_rejections(&[0.04, 0.01, 0.03], 0.05),
        [false, true, false]
    );
}

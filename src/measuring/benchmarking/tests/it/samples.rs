//! Repetitions, some of them invalid.

use benchmarking::Samples;

fn series(seconds: &[f64], invalid: &[u32]) -> Samples {
    Samples {
        seconds: seconds.to_vec(),
        invalid: invalid.to_vec(),
        elapsed_seconds: 1.0,
        ..Samples::default()
    }
}

#[test]
fn busy_time_outside_calls_was_spent_on_common_starts() {
    let check = |busy, starting| {
        let mut samples = Samples::new(vec![1.0, 2.0], vec![0], 5.0, busy);
        assert_eq!(
            (samples.calling_seconds, samples.starting_seconds),
            (3.0, starting)
        );
        samples.append(samples.clone());
        assert_eq!(samples.calling_seconds, 6.0);
        assert_eq!(samples.starting_seconds, 2.0 * starting);
    };
    check(4.5, 1.5);
    // The slowest rank may have been another one in each call.
    check(2.5, 0.0);
}

#[test]
fn invalid_repetitions_are_repeated_up_to_a_limit() {
    let mut samples = Samples::default();
    assert_eq!(samples.missing_repetitions(4), Some(4));
    samples.append(series(&[1.0], &[0]));
    assert_eq!(samples.missing_repetitions(4), Some(3));
    samples.append(series(&[2.0, 3.0, 4.0], &[1, 2]));
    assert_eq!(samples.missing_repetitions(4), Some(3));
    samples.append(series(&[5.0, 6.0, 7.0], &[1]));
    assert_eq!(samples.missing_repetitions(4), None);
    assert_eq!(samples.invalid, [0, 2, 3, 5]);
    assert_eq!(samples.valid_seconds(), [2.0, 5.0, 7.0]);
    assert_eq!(samples.elapsed_seconds, 3.0);
    let mut hopeless = Samples::default();
    let mut rounds = 0;
    while hopeless.missing_repetitions(1).is_some() {
        hopeless.append(series(&[1.0], &[0]));
        rounds += 1;
    }
    assert_eq!(rounds, 6 * 16);
    assert!(hopeless.valid_seconds().is_empty());
}

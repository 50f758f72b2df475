//! The repetitions that kept to their windows.

use benchmarking::clocks::{Readings, RepetitionTimes, Windows, judge_series};
use vocabulary::Pattern;

#[test]
fn late_ranks_and_overruns_make_repetitions_invalid() {
    let length = 10_000;
    // The times, in microseconds, at which the last rank was ready, the first and the last rank began, and the last
    // rank ended.
    let check = |spans: &[(f64, f64, f64, f64)], seconds: &[f64], invalid: &[u32]| {
        let spans: Vec<RepetitionTimes> = spans
            .iter()
            .map(|(ready, begin, latest, end)| RepetitionTimes {
                ready_seconds: ready * 1e-6,
                begin_seconds: begin * 1e-6,
                late_seconds: latest * 1e-6,
                latest_seconds: latest * 1e-6,
                own_seconds: f64::NAN,
                end_seconds: end * 1e-6,
            })
            .collect();
        let judged = judge_series(&spans, Pattern::Together, 5e-6, length);
        let close = |(a, b): (&f64, &f64)| (a * 1e6 - b).abs() < 1e-9;
        assert!(judged.seconds.iter().zip(seconds).all(close), "{judged:?}");
        assert_eq!(judged.invalid, invalid, "{spans:?}");
    };
    let good = (-2.0, 0.1, 0.2, 5.1);
    check(&[], &[], &[]);
    check(&[good, good], &[5.0, 5.0], &[]);
    // A rank that is ready at the start or later is late.
    check(&[(0.0, 0.1, 0.1, 5.1), good], &[5.0, 5.0], &[0]);
    check(&[good, (3.0, 0.1, 3.0, 8.1)], &[5.0, 8.0], &[1]);
    // A slightly late start after waiting is part of the time; a very late one makes the repetition invalid.
    check(&[(-2.0, 0.0, 4.9, 9.0)], &[9.0], &[]);
    check(&[(-2.0, 0.0, 5.1, 9.0)], &[9.0], &[0]);
    // The repetition has not ended when the next one is due, which usually makes the next one late.
    let overrun = (-2.0, 0.0, 0.0, 10.1);
    check(
        &[overrun, (0.1, 0.1, 0.1, 4.1), good],
        &[10.1, 4.0, 5.0],
        &[0, 1],
    );
    check(&[(-2.0, 0.0, 0.0, 10.0), good], &[10.0, 5.0], &[]);
    // After the last repetition no other is due.
    check(&[good, (-2.0, 0.0, 0.0, 99.0)], &[5.0, 99.0], &[]);
}

#[test]
fn ranks_agree_by_maxima() {
    let windows = Windows {
        first: 1_000_000,
        length: 10_000,
    };
    assert_eq!(windows.start_of_repetition(3), 1_030_000);
    assert_eq!(windows.punctuality_seconds(), 5e-6);
    let second = Windows {
        length: 1_000_000_000,
        ..windows
    };
    assert_eq!(second.punctuality_seconds(), 0.02);
    assert_eq!(Windows::from_bytes(&windows.to_bytes()), windows);
    let readings = |[ready, begin, timed, end]: [i64; 4]| Readings {
        ready,
        begin,
        timed,
        end,
    };
    let together = |ranks: [RepetitionTimes; 2]| {
        let maxima = ranks.map(RepetitionTimes::to_maxima);
        RepetitionTimes::from_maxima(
            [0, 1, 2, 3, 4, 5].map(|which| maxima[0][which].max(maxima[1][which])),
        )
    };
    let all = together([
        windows.times_of_rank(3, 0, readings([1_029_000, 1_030_010, 1_031_000, 1_033_000])),
        windows.times_of_rank(3, 0, readings([1_030_500, 1_030_500, 1_030_600, 1_032_000])),
    ]);
    let check = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-15, "{found}");
    check(all.ready_seconds, 0.5e-6);
    check(all.late_seconds, 0.5e-6);
    check(all.latest_seconds, 0.5e-6);
    check(all.seconds(Pattern::Together), 2.99e-6);
    check(all.seconds(Pattern::Repeated), 2e-6);
    check(all.seconds(Pattern::Skewed), 2.5e-6);
    // The second rank should arrive 4 us later. It does so 0.1 us late, having waited since 2 us.
    let skewed = together([
        windows.times_of_rank(3, 0, readings([1_029_000, 1_030_010, 1_030_010, 1_031_000])),
        windows.times_of_rank(
            3,
            4000,
            readings([1_032_000, 1_034_100, 1_034_100, 1_036_000]),
        ),
    ]);
    check(skewed.ready_seconds, -1e-6);
    check(skewed.late_seconds, 0.1e-6);
    check(skewed.seconds(Pattern::Skewed), 1.9e-6);
    let invalid = |most_late| judge_series(&[skewed], Pattern::Skewed, most_late, 10_000).invalid;
    assert!(invalid(5e-6).is_empty());
    assert_eq!(invalid(5e-8), [0]);
}

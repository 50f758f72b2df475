//! Which repetitions kept to their windows.

use benchmarking::clocks::{Span, Windows, judge};

#[test]
fn late_ranks_and_overruns_make_repetitions_invalid() {
    let length = 10_000;
    // In microseconds: when the last rank was ready, the first and the last one began, and the last
    // one ended.
    let check = |spans: &[(f64, f64, f64, f64)], seconds: &[f64], invalid: &[u32]| {
        let spans: Vec<Span> = spans
            .iter()
            .map(|(ready, begin, latest, end)| Span {
                ready_seconds: ready * 1e-6,
                begin_seconds: begin * 1e-6,
                latest_seconds: latest * 1e-6,
                end_seconds: end * 1e-6,
            })
            .collect();
        let judged = judge(&spans, 5e-6, length);
        let close = |(a, b): (&f64, &f64)| (a * 1e6 - b).abs() < 1e-9;
        assert!(judged.seconds.iter().zip(seconds).all(close), "{judged:?}");
        assert_eq!(judged.invalid, invalid, "{spans:?}");
    };
    let good = (-2.0, 0.1, 0.2, 5.1);
    check(&[], &[], &[]);
    check(&[good, good], &[5.0, 5.0], &[]);
    // Ready in the very moment, or later, is late.
    check(&[(0.0, 0.1, 0.1, 5.1), good], &[5.0, 5.0], &[0]);
    check(&[good, (3.0, 0.1, 3.0, 8.1)], &[5.0, 8.0], &[1]);
    // Beginning a little late after having waited is part of the time, beginning very late is not.
    check(&[(-2.0, 0.0, 4.9, 9.0)], &[9.0], &[]);
    check(&[(-2.0, 0.0, 5.1, 9.0)], &[9.0], &[0]);
    // Not done when the next is due, which usually makes that one late.
    let overrun = (-2.0, 0.0, 0.0, 10.1);
    check(
        &[overrun, (0.1, 0.1, 0.1, 4.1), good],
        &[10.1, 4.0, 5.0],
        &[0, 1],
    );
    check(&[(-2.0, 0.0, 0.0, 10.0), good], &[10.0, 5.0], &[]);
    // After the last one nothing is due.
    check(&[good, (-2.0, 0.0, 0.0, 99.0)], &[5.0, 99.0], &[]);
}

#[test]
fn ranks_agree_by_maxima() {
    let windows = Windows {
        first: 1_000_000,
        length: 10_000,
    };
    assert_eq!(windows.start(3), 1_030_000);
    assert_eq!(windows.punctuality_seconds(), 5e-6);
    let second = Windows {
        length: 1_000_000_000,
        ..windows
    };
    assert_eq!(second.punctuality_seconds(), 0.02);
    assert_eq!(Windows::from_bytes(&windows.to_bytes()), windows);
    let ranks = [
        windows.span(3, [1_029_000, 1_030_010, 1_033_000]),
        windows.span(3, [1_030_500, 1_030_500, 1_032_000]),
    ];
    let maxima = ranks.map(Span::to_maxima);
    let all = Span::of_maxima([0, 1, 2, 3].map(|which| maxima[0][which].max(maxima[1][which])));
    assert!((all.ready_seconds - 0.5e-6).abs() < 1e-15, "{all:?}");
    assert!((all.latest_seconds - 0.5e-6).abs() < 1e-15, "{all:?}");
    assert!((all.seconds() - 2.99e-6).abs() < 1e-15, "{all:?}");
}

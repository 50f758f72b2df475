//! Offsets and drifts are recovered.

use benchmarking::clocks::{Clock, Exchange, Offset};

use super::machine::{Delays, Machine, NOISY, QUIET, Skew};

#[test]
fn the_shortest_exchange_bounds_the_offset() {
    let exchange = |sent, answered, received| Exchange {
        sent,
        answered,
        received,
    };
    let exchanges = [
        exchange(0, 5000, 8000),
        exchange(10_000, 11_400, 12_000),
        exchange(20_000, 22_000, 23_000),
    ];
    let offset = Offset::by_shortest(&exchanges).expect("three exchanges");
    let expected = Offset {
        at: 11_000,
        offset: 400,
        half_round_trip: 1000,
    };
    assert_eq!(offset, expected);
    assert!(offset.may_be_none());
    assert!(
        !Offset {
            offset: 1001,
            ..offset
        }
        .may_be_none()
    );
    assert_eq!(Offset::by_shortest(&[]), None);
}

/// Synchronises many times. The clock must be right within half the asymmetry and `noise`, immediately and a second
/// later, the drift within `drift_noise`, and neither error may exceed the stated one.
fn check(skew: (f64, f64), delays: Delays, noise_seconds: f64, drift_noise: f64) {
    let client = Skew {
        offset_seconds: skew.0,
        drift: skew.1,
    };
    let bias = (delays.least[0] - delays.least[1]).abs() / 2.0 * 1e-9;
    let mut honest = 0;
    for seed in 0..200 {
        let mut machine = Machine::new(delays, seed);
        let clock = machine.learn(client, Skew::NONE);
        let expected = 1.0 / (1.0 + skew.1) - 1.0;
        let off = (clock.drift() - expected).abs();
        assert!(off < drift_noise, "{skew:?}, seed {seed}: drift {off:e}");
        honest += u32::from(off <= clock.drift_error());
        for (pause, more) in [(0, 0.0), (1_000_000_000, drift_noise)] {
            machine.now += pause;
            let error = machine.error_seconds(&clock, client, Skew::NONE);
            let most = bias + noise_seconds + more;
            assert!(error < most, "{skew:?}, seed {seed}: {error:e} > {most:e}");
            let said = clock.error_seconds(client.read(machine.now));
            assert!(error <= said, "{skew:?}, seed {seed}: {error:e} > {said:e}");
        }
    }
    assert!(honest >= 190, "{skew:?}: {honest} of 200");
}

#[test]
fn offsets_of_seconds_and_drifts_are_recovered() {
    for skew in [(1.0, 0.0), (-3.5, 1e-6), (86_400.0, -100e-6), (0.0, 50e-6)] {
        check(skew, QUIET, 30e-9, 0.2e-6);
        check(skew, NOISY, 350e-9, 2e-6);
    }
}

#[test]
fn a_disturbed_batch_has_little_weight() {
    let client = Skew {
        offset_seconds: 2.0,
        drift: 20e-6,
    };
    let mut machine = Machine::new(QUIET, 1);
    let offsets: Vec<Offset> = (0..12)
        .map(|batch| {
            machine.delays.least = [1000.0, if batch == 11 { 61_000.0 } else { 1000.0 }];
            machine.now += 25_000_000;
            machine.offset(client, Skew::NONE)
        })
        .collect();
    let clock = Clock::fit_line(&offsets).expect("twelve batches");
    assert!(machine.error_seconds(&clock, client, Skew::NONE) < 0.2e-6);
}

#[test]
fn only_identical_clocks_are_treated_as_shared() {
    let check = |offset_seconds, drift, expected| {
        let skew = Skew {
            offset_seconds,
            drift,
        };
        let mut machine = Machine::new(NOISY, 3);
        let clock = machine.learn(skew, Skew::NONE);
        let is_shared = clock.drift_error() == 0.0;
        assert_eq!(is_shared, expected, "{skew:?}");
    };
    check(0.0, 0.0, true);
    check(10e-6, 0.0, false);
    check(-10e-6, 0.0, false);
    // At 1000 seconds the difference has grown to 10 milliseconds.
    check(0.0, 10e-6, false);
}

#[test]
fn global_and_local_times_are_inverse_even_after_years() {
    let years = 3 * 365 * 86_400 * 1_000_000_000;
    let offsets: Vec<Offset> = (0..10)
        .map(|batch| Offset {
            at: years + batch * 10_000_000,
            offset: -years / 2 - batch * 1000,
            half_round_trip: 500,
        })
        .collect();
    let clock = Clock::fit_line(&offsets).expect("ten offsets");
    assert!((clock.drift() + 100e-6).abs() < 1e-9, "{clock:?}");
    for local in [years, years + 1, years + 3_600_000_000_000] {
        let back = clock.local_time(clock.global_time(local));
        assert!((back - local).abs() <= 1, "{local}: {back}");
    }
    assert_eq!(clock.global_time(years), years - years / 2);
    assert_eq!(Clock::from_bytes(&clock.to_bytes()), clock);
}

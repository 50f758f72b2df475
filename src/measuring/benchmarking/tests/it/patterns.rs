//! Calls that follow each other, and calls at which ranks arrive at different times.

use std::num::NonZero;

use benchmarking::{Arrivals, Calls, CellBenchmark};
use vocabulary::{Pattern, Repetition};
use wire::Measurement;

use crate::script::{Asked, Role, Script, WANTED, benchmark, candidates, takes};

/// The measurements, and the calls requested after all candidates were admitted.
fn measured(pattern: Pattern, roles: &[Role]) -> (Vec<Measurement>, Vec<(u32, usize, Calls)>) {
    let mut script = Script::new(roles);
    let candidates = candidates(roles.len());
    let benchmark = CellBenchmark {
        pattern,
        repetition: &Repetition {
            slice_seconds: 10.0,
            ..WANTED
        },
        ..benchmark(&candidates, Some(3))
    };
    let (measured, _) = benchmark.measure_candidates(&mut script).expect("an end");
    let admitted = script
        .asked
        .iter()
        .rposition(|asked| matches!(asked, Asked::Prepare(_)));
    // The warm-up calls of the last candidate are still included.
    let asked = script.asked[admitted.expect("one")..].iter();
    let repeats = asked.filter_map(|asked| match asked {
        Asked::Repeat(index, repetitions, calls) => Some((*index, *repetitions, *calls)),
        _ => None,
    });
    (measured, repeats.collect())
}

#[test]
fn a_repetition_has_the_requested_number_of_calls() {
    let candidates = candidates(1);
    for calls in [1, 4] {
        let benchmark = CellBenchmark {
            together: NonZero::new(calls),
            ..benchmark(&candidates, Some(3))
        };
        let (measured, _) = benchmark
            .measure_candidates(&mut Script::new(&[takes(1e-6)]))
            .expect("an end");
        assert_eq!(measured[0].batch, calls);
    }
}

#[test]
fn repeated_calls_are_timed_in_blocks_after_untimed_calls() {
    let check = |calls_seconds: &[f64], before, timed| {
        let roles: Vec<Role> = calls_seconds
            .iter()
            .map(|seconds| takes(*seconds))
            .collect();
        let (measured, repeats) = measured(Pattern::Repeated, &roles);
        assert_eq!(measured.len(), roles.len());
        for (measurement, role) in measured.iter().zip(&roles) {
            assert_eq!(measurement.batch, timed);
            let ratio = measurement.seconds[0] / role.call_seconds;
            assert!((0.6..1.4).contains(&ratio), "{ratio}");
        }
        let (_, _, last) = repeats.last().expect("one");
        assert_eq!(*last, Calls::Repeated { before, timed });
    };
    // Twenty calls, or a power of two that takes at least 200 us with the fastest candidate.
    check(&[1e-3, 2e-3], 2, 20);
    check(&[50e-6, 4e-6], 8, 64);
    check(&[0.9e-6], 32, 256);
    // With a watchdog of 60 s a block lasts at most 15 s.
    check(&[1e-3, 0.5], 1, 10);
}

#[test]
fn repeated_calls_are_warmed_up_in_blocks() {
    let mut slow_at_first = takes(2e-6);
    slow_at_first.first_seconds = 1e-3;
    let (measured, repeats) = measured(Pattern::Repeated, &[slow_at_first]);
    let block = |timed| Calls::Repeated {
        before: timed / 8,
        timed,
    };
    assert_eq!(repeats[0], (0, 1, block(20)));
    // Warm-up has the checked first call and at least one turn of blocks.
    assert!(measured[0].warmup > 22 && measured[0].warmup % 22 == 1);
    assert_eq!(measured[0].batch, 128);
}

#[test]
fn skewed_calls_are_repeated_with_each_order_of_arrival() {
    let (measured, repeats) = measured(Pattern::Skewed, &[takes(3e-3), takes(1e-3)]);
    for (index, measurement) in (0..).zip(&measured) {
        assert_eq!(measurement.batch, 3);
        let skewed = repeats.iter().filter_map(|repeat| match *repeat {
            (
                of,
                repetitions,
                Calls::Skewed {
                    longest_seconds,
                    first,
                },
            ) if of == index => Some((repetitions, longest_seconds, first)),
            _ => None,
        });
        let mut calls = 0;
        for (repetitions, longest_seconds, first) in skewed {
            // All candidates meet the same arrivals, which depend on the fastest.
            assert!(
                (0.7e-3..1.4e-3).contains(&longest_seconds),
                "{longest_seconds}"
            );
            assert_eq!((first, repetitions % 3), (calls, 0));
            calls += repetitions;
        }
        assert!(calls >= 30);
        assert_eq!(measurement.seconds.len() * 3, calls);
    }
    let is_together = |calls| calls == Calls::Together(1);
    assert!(is_together(repeats[0].2), "{repeats:?}");
}

#[test]
fn computation_beside_calls_takes_as_long_as_the_fastest_candidate() {
    let (of_candidates, repeats) = measured(
        Pattern::Overlapped,
        &[takes(3e-3), takes(1e-3), takes(2e-3)],
    );
    assert_eq!(of_candidates.len(), 3);
    // Warmed up without computation.
    assert_eq!(repeats[0].2, Calls::Nonblocking(1));
    let beside: Vec<f64> = repeats
        .iter()
        .map(|(_, _, calls)| calls.computing_seconds())
        .filter(|seconds| *seconds > 0.0)
        .collect();
    let first = beside[0];
    assert!((0.7e-3..1.4e-3).contains(&first), "{first}");
    assert!(beside.iter().all(|seconds| *seconds == first), "{beside:?}");
    let (_, alone) = measured(Pattern::Nonblocking, &[takes(3e-3)]);
    assert!(
        alone
            .iter()
            .all(|(_, _, calls)| *calls == Calls::Nonblocking(1)),
        "{alone:?}"
    );
}

#[test]
fn arrivals_take_turns_with_three_orders() {
    let arrivals = Arrivals {
        longest_seconds: 2.0,
        seed: 5,
    };
    let ranks = 7;
    let offsets = |given: &Arrivals, place| -> Vec<f64> {
        let ranks = 0..ranks;
        let len = ranks.len() as u32;
        ranks
            .map(|rank| given.offset_seconds(place, rank, len))
            .collect()
    };
    let mut late = std::collections::BTreeSet::new();
    for place in (0..Arrivals::PERIOD).step_by(3) {
        let one = offsets(&arrivals, place);
        let last = one.iter().position(|offset| *offset == 2.0);
        late.extend(last);
        assert_eq!(one.iter().sum::<f64>(), 2.0, "one alone is late");
        let ascending = offsets(&arrivals, place + 1);
        assert!(ascending.is_sorted() && ascending[0] == 0.0 && ascending[6] == 2.0);
        let random = offsets(&arrivals, place + 2);
        assert!(random.iter().all(|offset| (0.0..2.0).contains(offset)));
        assert!(!random.is_sorted() && random[0] != random[1], "{random:?}");
        assert_ne!(random, offsets(&arrivals, place + 5));
    }
    assert!(late.len() > 2, "{late:?}");
    assert_eq!(
        offsets(&arrivals, 2),
        offsets(&arrivals, 2 + Arrivals::PERIOD)
    );
    let other = Arrivals {
        seed: 6,
        ..arrivals
    };
    assert_ne!(offsets(&arrivals, 2), offsets(&other, 2));
}

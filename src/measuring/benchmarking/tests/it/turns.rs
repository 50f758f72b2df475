//! The turns of candidates in the loop, and the loop's use of their results.

use std::collections::HashSet;

use benchmarking::Calls;
use statistics::clock::ClockResolution;
use vocabulary::Racing;
use wire::FailureKind;

use crate::script::{
    Asked, LOOK_SECONDS, Moment, Role, START_SECONDS, Script, benchmark, candidates, takes,
};

/// All requests after the last candidate was admitted.
fn race(script: &Script) -> &[Asked] {
    let is_last = |asked: &Asked| matches!(asked, Asked::FirstCall(_));
    let last = script
        .asked
        .iter()
        .rposition(is_last)
        .expect("a first call");
    let turn = script.asked[last..]
        .iter()
        .position(|asked| matches!(asked, Asked::Turn(_)));
    &script.asked[last + turn.expect("a turn")..]
}

/// The candidates in the order of their turns.
fn turns(asked: &[Asked]) -> Vec<u32> {
    let turns = asked.iter().filter_map(|asked| match asked {
        Asked::Turn(index) => Some(*index),
        _ => None,
    });
    turns.collect()
}

#[test]
fn turns_are_shuffled_again_each_round() {
    let run = |seed| {
        let mut script = Script::new(&[1e-2; 3].map(takes));
        script.run(seed).expect("no error");
        turns(race(&script))
    };
    let shuffled = run(Some(1));
    let rounds: Vec<&[u32]> = shuffled.chunks_exact(3).collect();
    assert!(rounds.len() > 20);
    let complete = |round: &&[u32]| round.iter().collect::<HashSet<_>>().len() == 3;
    assert!(rounds.iter().all(complete), "{rounds:?}");
    assert_eq!(rounds.iter().collect::<HashSet<_>>().len(), 6, "{rounds:?}");
    assert_eq!(run(Some(1)), shuffled);
    assert_ne!(run(Some(2)), shuffled);
    assert!(run(None).chunks_exact(3).all(|round| round == [0, 1, 2]));
}

#[test]
fn each_call_is_in_a_turn_of_its_candidate() {
    let roles = [
        takes(1e-3),
        Role {
            valid_of: 5,
            ..takes(2e-3)
        },
        takes(11.0),
    ];
    let mut script = Script::new(&roles);
    script.run(Some(3)).expect("no error");
    let mut turn = None;
    for asked in &script.asked {
        match asked {
            Asked::Turn(index) => turn = Some(*index),
            Asked::Prepare(index) | Asked::FirstCall(index) => assert_eq!(turn, Some(*index)),
            Asked::Repeat(index, ..) | Asked::Failed(index, _) => assert_eq!(turn, Some(*index)),
            Asked::Residual => {}
        }
    }
    assert_eq!(script.asked.last(), Some(&Asked::Residual));
}

#[test]
fn a_failure_ends_the_round_and_the_others_continue() {
    let mut roles = [1e-2; 3].map(takes);
    // Two repeat requests are warm-up.
    roles[1].fails = Some((Moment::Series(2 + 4), 0..1));
    let mut script = Script::new(&roles);
    let (measured, _) = script.run(None).expect("no error");
    let asked = race(&script);
    let failed = asked
        .iter()
        .position(|asked| matches!(asked, Asked::Failed(..)));
    let (before, after) = asked.split_at(failed.expect("a failure"));
    assert_eq!(after[0], Asked::Failed(1, FailureKind::MpiError));
    let rounds = [0, 1, 2].repeat(4);
    assert_eq!(turns(before), [&rounds[..], &[0, 1]].concat());
    assert_eq!(turns(after)[..4], [0, 2, 0, 2], "the third misses a round");
    let candidates: Vec<u32> = measured.iter().map(|measured| measured.candidate).collect();
    assert_eq!(candidates, [0, 2]);
    assert!(measured.iter().all(|measured| measured.seconds.len() == 60));
}

#[test]
fn an_error_ends_the_launch_at_once() {
    let roles = [1e-2; 2].map(takes);
    let mut whole = Script::new(&roles);
    whole.run(Some(1)).expect("no error");
    for end in 0..whole.asked.len() {
        let mut script = Script::new(&roles);
        script.ends_after = Some(end);
        assert!(script.run(Some(1)).is_err(), "{end}");
        assert_eq!(script.asked, whole.asked[..end]);
    }
}

#[test]
fn all_time_is_accounted_for() {
    let fails = Some((Moment::Series(3), 0..1));
    let mut script = Script::new(&[
        takes(1e-3),
        takes(2e-3),
        takes(11.0),
        Role {
            valid_of: 5,
            ..takes(1e-3)
        },
        Role {
            fails,
            ..takes(1e-3)
        },
    ]);
    let (measured, spent) = script.run(Some(1)).expect("no error");
    let begin = script.asked.len() - race(&script).len();
    let (mut starting, mut calling, mut failed) = (LOOK_SECONDS, 0.0, 0.0);
    for place in begin..script.asked.len() - 1 {
        let Asked::Repeat(_, repetitions, _) = script.asked[place] else {
            continue;
        };
        let elapsed = script.asked_at[place + 1] - script.asked_at[place];
        if let Asked::Failed(..) = script.asked[place + 1] {
            failed += elapsed;
            continue;
        }
        starting += START_SECONDS * repetitions as f64;
        calling += elapsed - START_SECONDS * repetitions as f64;
    }
    let check = |found: f64, expected: f64| {
        assert!(
            (found - expected).abs() < 1e-9,
            "{found} and {expected} of {spent:?}"
        );
    };
    check(spent.preparing_seconds, script.asked_at[begin]);
    check(spent.starting_seconds, starting);
    check(spent.calling_seconds, calling);
    assert!(failed > 0.0);
    let sum = spent.preparing_seconds + spent.starting_seconds + spent.calling_seconds;
    check(sum + failed, script.elapsed_seconds);
    assert_eq!(measured.len(), 3);
    assert!(
        measured
            .iter()
            .all(|measured| measured.residual_seconds == Some(1e-7))
    );
}

#[test]
fn calls_too_short_for_the_clock_are_batched_alike() {
    let candidates = candidates(2);
    let mut benchmark = benchmark(&candidates, None);
    benchmark.timer = ClockResolution {
        overhead_seconds: 20e-9,
        resolution_seconds: 1e-6,
    };
    let mut script = Script::new(&[takes(50e-6), takes(7e-6)]);
    let (measured, _) = benchmark.measure_candidates(&mut script).expect("no error");
    for (timed, seconds) in measured.iter().zip([50e-6, 7e-6]) {
        assert_eq!(timed.batch, 8);
        let is_a_call = |found: &f64| (0.65..1.35).contains(&(found / seconds));
        assert!(timed.seconds.iter().all(is_a_call), "{timed:?}");
    }
    let batched = |asked: &Asked| !matches!(asked, Asked::Repeat(_, _, calls) if *calls != Calls::Together(8));
    assert!(race(&script).iter().all(batched));
}

#[test]
fn invalid_repetitions_are_kept_but_decide_nothing() {
    let mut script = Script::new(&[Role {
        valid_of: 3,
        ..takes(1e-3)
    }]);
    let (measured, _) = script.run(None).expect("no error");
    let measured = &measured[0];
    let valid = measured.seconds.len() - measured.invalid.len();
    assert!(valid >= 60, "{valid} of {}", measured.seconds.len());
    assert!(measured.invalid.is_sorted() && measured.invalid.len() > valid);
    // If nearly all repetitions are invalid, one turn of six times as many suffices.
    let mut rarely_valid = Script::new(&[Role {
        valid_of: 100_000,
        ..takes(1e-3)
    }]);
    let (mostly_invalid, _) = rarely_valid.run(None).expect("no error");
    assert_eq!(
        mostly_invalid[0].seconds.len(),
        mostly_invalid[0].invalid.len()
    );
    assert_eq!(turns(race(&rarely_valid)), [0]);
}

#[test]
fn significantly_slower_candidates_leave_the_race() {
    let candidates = candidates(3);
    let mut benchmark = benchmark(&candidates, Some(1));
    benchmark.racing = Some(Racing { materiality: 0.05 });
    let wanted = vocabulary::Repetition {
        maximum: 10_000,
        ..*benchmark.repetition
    };
    benchmark.repetition = &wanted;
    let mut script = Script::new(&[takes(3e-3), takes(1e-3), takes(2e-3)]);
    let (measured, _) = benchmark.measure_candidates(&mut script).expect("no error");
    let left: Vec<_> = measured.iter().map(|measured| measured.left).collect();
    assert_eq!(
        (left[0], left[1]),
        (None, None),
        "the default and the fastest"
    );
    let left = left[2].expect("the third");
    assert_eq!((left.leader, left.round), (1, 9), "{left:?}");
    assert!((left.ratio - 2.0).abs() < 0.5 && left.saved_seconds > 0.0);
}

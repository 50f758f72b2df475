//! The candidates that the loop admits, their order, and their calls before measuring.

use std::collections::HashSet;

use benchmarking::{Calls, KnownTimes};
use wire::FailureKind;

use crate::script::{Asked, Moment, Role, Script, takes};

/// The candidates in the order in which they were prepared.
fn order(roles: &[Role], seed: Option<u64>) -> Vec<u32> {
    let mut script = Script::new(roles);
    script.run(seed).expect("no error");
    let prepared = script.asked.iter().filter_map(|asked| match asked {
        Asked::Prepare(index) => Some(*index),
        _ => None,
    });
    prepared.collect()
}

#[test]
fn the_default_comes_first_and_the_others_in_an_order_of_the_seed() {
    let roles = [1e-3; 4].map(takes);
    let orders: HashSet<Vec<u32>> = (0..200).map(|seed| order(&roles, Some(seed))).collect();
    assert!(orders.iter().all(|order| order[0] == 0));
    assert_eq!(orders.len(), 6, "all orders of the other three");
    assert_eq!(order(&roles, Some(7)), order(&roles, Some(7)));
    assert_eq!(order(&roles, None), [0, 1, 2, 3]);
}

#[test]
fn each_candidate_is_called_once_and_warmed_up_before_the_next() {
    let mut script = Script::new(&[takes(1e-3), takes(2e-3)]);
    let (measured, _) = script.run(None).expect("no error");
    use Asked::{FirstCall, Prepare, Repeat, Turn};
    // Warm-up ends because the medians of one call and of 25 agree.
    let admitted = |index| {
        [
            Turn(index),
            Prepare(index),
            FirstCall(index),
            Repeat(index, 1, Calls::Together(1)),
        ]
    };
    assert_eq!(script.asked[..4], admitted(0));
    assert!(
        matches!(script.asked[4], Repeat(0, 2..=25, Calls::Together(1))),
        "{:?}",
        script.asked
    );
    assert_eq!(script.asked[5..9], admitted(1));
    let Repeat(0, repetitions, Calls::Together(1)) = script.asked[4] else {
        panic!("{:?}", script.asked);
    };
    assert_eq!(measured[0].warmup, 2 + repetitions as u32);
}

#[test]
fn candidates_with_known_times_need_no_warm_up() {
    let known = KnownTimes {
        call_seconds: 0.05,
        repetition_seconds: 0.05,
    };
    let mut script = Script::new(&[Role {
        known: Some(known),
        ..takes(1e-3)
    }]);
    let (measured, _) = script.run(None).expect("no error");
    use Asked::{FirstCall, Prepare, Repeat, Residual, Turn};
    assert_eq!(script.asked[..3], [Turn(0), Prepare(0), FirstCall(0)]);
    // A turn lasts a tenth of the slice, and an eighth of that at first: one call by the known time, however long calls
    // took.
    assert_eq!(
        script.asked[3..5],
        [Turn(0), Repeat(0, 1, Calls::Together(1))]
    );
    let turns = script
        .asked
        .iter()
        .filter(|asked| matches!(asked, Repeat(0, 1, Calls::Together(1))));
    assert_eq!(turns.count(), 24);
    assert_eq!(script.asked.last(), Some(&Residual));
    assert_eq!(measured[0].warmup, 1);
}

/// Measures the default and another candidate. Returns the other's failures, its number of repetitions, and the
/// measured candidates.
fn beside(default_seconds: f64, role: Role) -> (Vec<FailureKind>, usize, Vec<u32>) {
    let mut script = Script::new(&[takes(default_seconds), role]);
    let (measured, _) = script.run(Some(1)).expect("no error");
    let failed = script.asked.iter().filter_map(|asked| match asked {
        Asked::Failed(1, kind) => Some(*kind),
        _ => None,
    });
    let calls = script.asked.iter().map(|asked| match asked {
        Asked::Repeat(1, repetitions, _) => *repetitions,
        _ => 0,
    });
    let measured = measured.iter().map(|measured| measured.candidate);
    (failed.collect(), calls.sum(), measured.collect())
}

#[test]
fn hopeless_candidates_are_not_called_again() {
    let first = |first_seconds| Role {
        first_seconds,
        ..takes(1e-3)
    };
    assert_eq!(
        beside(1e-3, first(101.0)),
        (vec![FailureKind::TooSlow], 0, vec![0])
    );
    // A slow first call alone may have other reasons.
    let (failed, _, measured) = beside(1e-3, first(99.0));
    assert_eq!((failed, measured), (vec![], vec![0, 1]));
    // The limit is twenty times the default's time, and ten times more for the first call.
    assert_eq!(beside(2.0, first(401.0)).2, [0]);
    assert_eq!(beside(2.0, first(399.0)).2, [0, 1]);
}

#[test]
fn too_slow_candidates_leave_after_warming_up() {
    assert_eq!(
        beside(1e-3, takes(11.0)),
        (vec![FailureKind::TooSlow], 1, vec![0])
    );
    assert_eq!(beside(1e-3, takes(9.0)).2, [0, 1]);
    let mut script = Script::new(&[takes(1e-3), takes(11.0)]);
    script.run(None).expect("no error");
    let message = "one call took 11.0 s, that of another candidate 1.03 ms: it was not repeated";
    assert_eq!(script.messages, [message]);
}

#[test]
fn the_default_is_measured_however_slow_it_is() {
    let mut script = Script::new(&[takes(500.0), takes(1e-3)]);
    let (measured, _) = script.run(None).expect("no error");
    let [default, other] = &measured[..] else {
        panic!("{measured:?}");
    };
    assert_eq!(default.seconds.len(), 1, "one repetition suffices");
    assert_eq!(other.seconds.len(), 60);
    assert!(script.messages.is_empty());
}

#[test]
fn slow_candidates_admitted_before_faster_ones_leave_after_a_turn() {
    let roles = [takes(100.0), takes(90.0), takes(1e-3)];
    let mut script = Script::new(&roles);
    let (measured, _) = script.run(None).expect("no error");
    let kept: Vec<u32> = measured.iter().map(|measured| measured.candidate).collect();
    assert_eq!(kept, [0, 2]);
    let calls = script
        .asked
        .iter()
        .filter(|asked| matches!(asked, Asked::Repeat(1, ..)));
    assert_eq!(calls.count(), 2, "warming up, and a turn");
    assert!(
        script
            .asked
            .contains(&Asked::Failed(1, FailureKind::TooSlow))
    );
}

#[test]
fn failed_candidates_are_not_called_again() {
    let moments = [
        Moment::Preparing,
        Moment::FirstCall,
        Moment::Series(0),
        Moment::Series(1),
    ];
    for (moment, asked) in moments.into_iter().zip([2, 3, 4, 5]) {
        let fails = Some((moment, 0..1));
        let mut script = Script::new(&[
            takes(1e-3),
            Role {
                fails,
                ..takes(1e-3)
            },
        ]);
        let (measured, _) = script.run(Some(1)).expect("no error");
        assert_eq!(measured.len(), 1, "{moment:?}");
        let of_it = |question: &&Asked| match question {
            Asked::Turn(index) | Asked::Prepare(index) | Asked::FirstCall(index) => *index == 1,
            Asked::Repeat(index, ..) | Asked::Failed(index, _) => *index == 1,
            Asked::Residual => false,
        };
        let of_it: Vec<&Asked> = script.asked.iter().filter(of_it).collect();
        assert_eq!(of_it.len(), asked + 1, "{moment:?}: {of_it:?}");
        assert_eq!(
            of_it.last(),
            Some(&&Asked::Failed(1, FailureKind::MpiError))
        );
    }
}

//! Races in the words of plans and records.

use vocabulary::{Candidate, Parameters, Racing, Repetition};

use benchmarking::Race;

/// A race of the default, which is slowest, and of one that is twice as fast as the other two.
fn race(racing: Option<Racing>) -> Race {
    let ours = |algorithm: &str| Candidate::Ours {
        algorithm: algorithm.to_owned(),
        parameters: Parameters::default(),
    };
    let candidates = [ours("a"), Candidate::Default, ours("b"), ours("c")];
    let wanted = Repetition {
        minimum: 10,
        maximum: 3000,
        precision: 1e-9,
        confidence: 0.95,
        slice_seconds: 2.0,
    };
    let mut race = Race::between(&candidates, racing, wanted);
    let mut chance = fastrand::Rng::with_seed(1);
    while !race.is_over() {
        for entrant in race.running() {
            let base = [2e-4, 3e-4, 1e-4, 2e-4][entrant];
            let calls = race.turn(entrant, base, 30.0);
            let turn: Vec<f64> = (0..calls).map(|_| base * (1.0 + chance.f64())).collect();
            race.add(entrant, &turn, turn.iter().sum());
        }
        race.end_round();
    }
    race
}

#[test]
fn slow_contenders_leave_and_the_default_stays() {
    let racing = Racing { materiality: 0.05 };
    let results = race(Some(racing)).into_results(&[3, 4, 6, 9]);
    let left: Vec<bool> = results.iter().map(|(_, left)| left.is_some()).collect();
    assert_eq!(left, [true, false, false, true]);
    for (_, left) in results.iter().filter(|(_, left)| left.is_some()) {
        let left = left.expect("one that left");
        assert_eq!(left.leader, 6);
        assert!((1.8..2.2).contains(&left.ratio) && left.saved_seconds > 0.0);
    }
}

#[test]
fn who_only_ties_stays() {
    let results = race(Some(Racing { materiality: 1.5 })).into_results(&[0, 1, 2, 3]);
    assert!(results.iter().all(|(_, left)| left.is_none()));
}

#[test]
fn without_racing_all_are_measured_to_the_end() {
    let results = race(None).into_results(&[0, 1, 2, 3]);
    assert!(results.iter().all(|(_, left)| left.is_none()));
    assert!(
        results
            .iter()
            .all(|(progress, _)| progress.seconds().len() == 3000)
    );
}

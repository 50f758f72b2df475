//! Races between the candidates of plans and records.

use vocabulary::{Candidate, Parameters, Racing, Repetition};

use benchmarking::Race;

/// A race between the default, which is the slowest, two other candidates, and one that is twice as fast as these.
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
    let mut race = Race::between_candidates(&candidates, racing, wanted);
    let mut chance = fastrand::Rng::with_seed(1);
    while !race.is_over() {
        for entrant in race.running_entrants() {
            let base = [2e-4, 3e-4, 1e-4, 2e-4][entrant];
            let calls = race.turn_repetitions(entrant, base, 30.0);
            let turn: Vec<f64> = (0..calls).map(|_| base * (1.0 + chance.f64())).collect();
            race.add_turn(entrant, &turn, turn.iter().sum());
        }
        race.end_round();
    }
    race
}

#[test]
fn slow_contenders_leave_and_the_default_stays() {
    let racing = Racing { materiality: 0.05 };
    let left = race(Some(racing)).eliminations_by_entrant(&[3, 4, 6, 9]);
    let has_left = left.iter().map(Option::is_some).collect::<Vec<_>>();
    assert_eq!(has_left, [true, false, false, true]);
    for elimination in left.iter().flatten() {
        assert_eq!(elimination.leader, 6);
        assert!((1.8..2.2).contains(&elimination.ratio) && elimination.saved_seconds > 0.0);
    }
}

#[test]
fn candidates_that_tie_stay() {
    let left = race(Some(Racing { materiality: 1.5 })).eliminations_by_entrant(&[0, 1, 2, 3]);
    assert!(left.iter().all(Option::is_none));
}

#[test]
fn without_racing_all_are_measured_to_the_end() {
    let race = race(None);
    assert!(
        race.eliminations_by_entrant(&[0, 1, 2, 3])
            .iter()
            .all(Option::is_none)
    );
    assert!((0..4).all(|entrant| race.progress(entrant).seconds().len() == 3000));
}

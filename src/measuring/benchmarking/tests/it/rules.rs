//! The rules of a race, one by one, on times without noise.

use benchmarking::{EliminatedEntrant, Race, RaceRules, Role};
use vocabulary::Repetition;

const WANTED: Repetition = Repetition {
    minimum: 10,
    maximum: 1000,
    precision: 0.03,
    confidence: 0.95,
    slice_seconds: 1.0,
};

/// Repetitions that are spread too widely to become precise.
fn wide(seconds: f64) -> [f64; 4] {
    [0.5, 0.7, 1.4, 2.0].map(|factor| factor * seconds)
}

fn race(roles: &[Role]) -> Race {
    Race::new(roles, RaceRules::default(), WANTED)
}

/// Runs `count` rounds with turns of a hundredth of the slice; returns the eliminated entrants.
fn rounds(race: &mut Race, seconds: &[f64], count: usize) -> Vec<EliminatedEntrant> {
    let mut leavers = Vec::new();
    for _ in 0..count {
        for entrant in race.running_entrants() {
            race.add_turn(entrant, &wide(seconds[entrant]), 0.01);
        }
        leavers.extend(race.end_round());
    }
    leavers
}

use Role::{Contender, Reference};

#[test]
fn of_two_entrants_one_leaves_after_eight_rounds() {
    let mut race = race(&[Contender, Contender]);
    assert_eq!(rounds(&mut race, &[1.0, 1.5], 7), []);
    let leavers = rounds(&mut race, &[1.0, 1.5], 1);
    let [(entrant, left)] = leavers[..] else {
        panic!("{leavers:?}");
    };
    assert_eq!((entrant, left.leader, left.round), (1, 0, 8));
    assert!((left.ratio - 1.5).abs() < 1e-12);
    // 32 repetitions took 0.08 s; without the race the entrant would have used up its slice.
    assert!((left.saved_seconds - 0.92).abs() < 1e-9, "{left:?}");
    assert!((left.saved_repetitions - 368.0).abs() < 1e-6);
    assert_eq!(race.leavers(), leavers);
    assert!((race.spent_seconds() - 0.16).abs() < 1e-9);
    assert_eq!(race.running_entrants(), [0]);
}

#[test]
fn more_entrants_need_more_rounds() {
    let round = |entrants: usize| {
        let mut race = race(&vec![Contender; entrants]);
        let mut seconds = vec![1.0; entrants];
        seconds[entrants - 1] = 1.5;
        rounds(&mut race, &seconds, 30)[0].1.round
    };
    assert_eq!([2, 3, 10, 100].map(round), [8, 9, 12, 15]);
}

#[test]
fn a_reference_stays_however_slow_it_is() {
    let mut race = race(&[Reference, Contender]);
    assert_eq!(rounds(&mut race, &[3.0, 1.0], 200), []);
    assert!(race.is_over());
    assert_eq!(race.progress(0).seconds().len(), 400, "the slice");
}

#[test]
fn immaterially_slower_entrants_stay() {
    let leave = |ratio| !rounds(&mut race(&[Reference, Contender]), &[1.0, ratio], 50).is_empty();
    assert!(!leave(1.049));
    assert!(leave(1.051));
    assert!(!leave(0.5));
}

#[test]
fn no_entrant_leaves_before_the_minimum() {
    let leaver = |rules, wanted, calls: usize| {
        let mut race = Race::new(&[Reference, Contender], rules, wanted);
        (1..50).find(|round| {
            for entrant in race.running_entrants() {
                let times = wide((1 + entrant) as f64).into_iter().cycle().skip(*round);
                let turn: Vec<f64> = times.take(calls).collect();
                race.add_turn(entrant, &turn, 0.001);
            }
            !race.end_round().is_empty()
        })
    };
    let rules = RaceRules::default();
    let late = RaceRules {
        minimum_rounds: 20,
        ..rules
    };
    let many = Repetition {
        minimum: 11,
        ..WANTED
    };
    assert_eq!(leaver(rules, WANTED, 4), Some(8));
    assert_eq!(leaver(late, WANTED, 4), Some(20));
    assert_eq!(leaver(rules, WANTED, 1), Some(10), "repetitions");
    assert_eq!(leaver(rules, many, 1), Some(11), "repetitions");
}

#[test]
fn precise_entrants_stop_but_the_leader_continues_while_others_may_leave() {
    let mut race = race(&[Reference, Contender, Contender]);
    let mut rest = Vec::new();
    for _ in 0..100 {
        for entrant in race.running_entrants() {
            let seconds = [[1.0; 4], [1.01; 4], wide(0.98)][entrant];
            race.add_turn(entrant, &seconds, 0.01);
        }
        assert_eq!(race.end_round(), []);
        rest.push(race.running_entrants());
    }
    assert_eq!(rest[3], [0, 1, 2]);
    assert!(rest[4..99].iter().all(|running| *running == [0, 2]));
    assert!(race.is_over(), "the slice is used up");
    let counts = [0, 1, 2].map(|entrant| race.progress(entrant).seconds().len());
    assert_eq!(counts, [400, 20, 400]);
}

#[test]
fn failed_entrants_take_no_turns_and_do_not_lead() {
    let mut race = race(&[Reference, Contender, Contender]);
    rounds(&mut race, &[2.0, 1.0, 2.0], 4);
    race.withdraw(1);
    assert_eq!(race.running_entrants(), [0, 2]);
    assert_eq!(rounds(&mut race, &[2.0, 1.0, 2.0], 200), []);
    assert!(race.is_over());
    let counts = [0, 1, 2].map(|entrant| race.progress(entrant).seconds().len());
    assert_eq!(counts, [400, 16, 400]);
}

#[test]
fn entrants_that_miss_a_round_are_compared_in_the_others() {
    let mut race = race(&[Reference, Contender]);
    // The machine slows down by a tenth each round; without pairing this would hide the difference.
    let mut slowness = 1.0;
    let mut leavers = Vec::new();
    for round in 1..=30 {
        for entrant in race.running_entrants() {
            if entrant == 0 || round % 3 != 0 {
                let seconds = wide(slowness * [1.0, 1.1][entrant]);
                race.add_turn(entrant, &seconds, 0.01);
            }
        }
        slowness *= 1.1;
        leavers.extend(race.end_round());
    }
    assert_eq!(leavers.len(), 1);
    let (_, left) = leavers[0];
    assert_eq!(left.round, 11, "the eighth common round");
    assert!((left.ratio - 1.1).abs() < 1e-12);
}

#[test]
fn times_of_zero_give_no_ratios() {
    for contender in [[0.0; 4], wide(1e-9)] {
        let mut race = race(&[Reference, Contender]);
        for _ in 0..20 {
            race.add_turn(0, &[0.0; 4], 0.01);
            race.add_turn(1, &contender, 0.01);
            assert_eq!(race.end_round(), []);
        }
    }
}

#[test]
fn opening_turns_are_an_eighth_as_long() {
    let mut race = race(&[Reference, Contender]);
    assert_eq!(race.turn_repetitions(0, 2e-3, 60.0), 6);
    assert_eq!(race.turn_repetitions(0, 1.0, 60.0), 1);
    assert_eq!(race.turn_repetitions(0, 1e-6, 60.0), 20);
    rounds(&mut race, &[1.0, 1.0], 24);
    assert_eq!(race.turn_repetitions(0, 2e-3, 60.0), 50);
}

#[test]
fn a_race_without_entrants_is_over() {
    assert!(race(&[]).is_over());
    assert!(race(&[]).end_round().is_empty());
}

//! Programs that a script plays run without and with a table.

use guard::{
    GuardError, ProgramRunner, ProgramVariant, ProgramVerdict, RunResult, TimedProgram, TimingPlan,
    time_program,
};

const PLAN: TimingPlan = TimingPlan {
    warmups: 1,
    pairs: 8,
    budget_seconds: None,
    is_higher_better: false,
};

/// A program whose results a function gives, by how it runs and how often it ran like that before.
struct Played<F>(F, [u32; 2]);

impl<F: FnMut(ProgramVariant, u32) -> RunResult> ProgramRunner for Played<F> {
    type Error = GuardError;

    fn run_program(&mut self, variant: ProgramVariant) -> Result<RunResult, GuardError> {
        let turn = &mut self.1[usize::from(variant == ProgramVariant::With)];
        *turn += 1;
        Ok((self.0)(variant, *turn - 1))
    }
}

fn succeeded(seconds: f64) -> RunResult {
    RunResult::Succeeded {
        seconds,
        figure: None,
    }
}

/// A program that takes as long as a function says without the table, and `share` of that with it.
fn timed(plan: &TimingPlan, share: f64, seconds: fn(u32) -> f64) -> TimedProgram {
    let play = |variant, turn| {
        let factor = if variant == ProgramVariant::With {
            share
        } else {
            1.0
        };
        succeeded(seconds(turn) * factor)
    };
    time_program(plan, &mut Played(play, [0; 2])).unwrap()
}

#[test]
fn pairs_show_gains_and_losses_on_a_machine_that_becomes_slower() {
    let drifting = |turn: u32| 2.0 + f64::from(turn);
    let faster = timed(&PLAN, 0.8, drifting);
    assert_eq!(faster.verdict(0.0), ProgramVerdict::Faster);
    let gain = faster.gain().unwrap();
    assert!((gain.speedup - 1.25).abs() < 1e-9, "{gain:?}");
    assert_eq!(gain.pairs, 8);
    let slower = timed(&PLAN, 1.1, drifting);
    assert_eq!(slower.verdict(0.0), ProgramVerdict::Slower);
    assert_eq!(slower.verdict(0.05), ProgramVerdict::Slower);
    // A loss that is tolerated.
    assert_eq!(slower.verdict(0.15), ProgramVerdict::NoLoss);
    assert_eq!(
        timed(&PLAN, 1.0, drifting).verdict(0.0),
        ProgramVerdict::NoLoss
    );
}

#[test]
fn what_chance_may_have_done_is_not_shown() {
    // One pair in three is a good deal worse.
    let play = |variant, turn: u32| {
        let is_hit = variant == ProgramVariant::With && turn % 3 == 0;
        succeeded(if is_hit {
            1.5
        } else {
            1.0 - 0.01 * f64::from(turn % 2)
        })
    };
    let mixed = time_program(&PLAN, &mut Played(play, [0; 2])).unwrap();
    assert_eq!(mixed.verdict(0.05), ProgramVerdict::NothingShown);
    // Five pairs have no interval of 95 %.
    let few = TimingPlan { pairs: 5, ..PLAN };
    assert_eq!(
        timed(&few, 0.5, |_| 1.0).verdict(0.0),
        ProgramVerdict::NothingShown
    );
    let six = TimingPlan { pairs: 6, ..PLAN };
    assert_eq!(
        timed(&six, 0.5, |_| 1.0).verdict(0.0),
        ProgramVerdict::Faster
    );
}

#[test]
fn larger_figures_may_be_better() {
    let play = |variant, _| RunResult::Succeeded {
        seconds: 1.0,
        figure: Some(if variant == ProgramVariant::With {
            110.0
        } else {
            100.0
        }),
    };
    let rate = TimingPlan {
        is_higher_better: true,
        ..PLAN
    };
    let better = time_program(&rate, &mut Played(play, [0; 2])).unwrap();
    assert_eq!(better.verdict(0.0), ProgramVerdict::Faster);
    assert!((better.gain().unwrap().speedup - 1.1).abs() < 1e-9);
    let worse = time_program(&PLAN, &mut Played(play, [0; 2])).unwrap();
    assert_eq!(worse.verdict(0.0), ProgramVerdict::Slower);
}

#[test]
fn either_kind_of_run_comes_first_in_turn_and_warmups_do_not_count() {
    let timed = timed(&PLAN, 1.0, |_| 1.0);
    let order: Vec<_> = timed
        .runs
        .iter()
        .map(|run| (run.pair, run.variant.name()))
        .collect();
    assert_eq!(
        order[..6],
        [
            (0, "without"),
            (0, "with"),
            (1, "with"),
            (1, "without"),
            (2, "without"),
            (2, "with")
        ]
    );
    assert_eq!(order.len(), 18);
}

#[test]
fn a_program_that_fails_with_the_table_alone_is_the_tables_fault() {
    let play = |variant, turn| {
        if variant == ProgramVariant::With && turn == 3 {
            RunResult::Failed("ended with exit code 7".to_owned())
        } else {
            succeeded(1.0)
        }
    };
    let failing = time_program(&PLAN, &mut Played(play, [0; 2])).unwrap();
    assert_eq!(failing.verdict(0.5), ProgramVerdict::Fails);
    let failure = failing.failure.unwrap();
    assert_eq!(
        (failure.pair, &*failure.reason),
        (3, "ended with exit code 7")
    );
    // It came first in its pair, and no run was made after it.
    assert_eq!(failing.runs.len(), 2 + 4);
    let always = |_, _| RunResult::Failed("ended with exit code 1".to_owned());
    let error = time_program(&PLAN, &mut Played(always, [0; 2])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the program fails without the table: it ended with exit code 1"
    );
}

#[test]
fn no_pair_is_begun_that_would_exceed_the_budget() {
    let budget = TimingPlan {
        budget_seconds: Some(9.0),
        ..PLAN
    };
    let short = timed(&budget, 1.0, |_| 1.0);
    assert!(short.is_out_of_time);
    // The warm-up and three pairs.
    assert_eq!(short.runs.len(), 8);
    let enough = TimingPlan {
        budget_seconds: Some(18.0),
        ..PLAN
    };
    assert!(!timed(&enough, 1.0, |_| 1.0).is_out_of_time);
}

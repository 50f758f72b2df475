//! Programs that a script plays run without and with a table.

use guard::{
    GuardError, ProgramRunner, ProgramVariant, ProgramVerdict, RunResult, TimedProgram, TimingPlan,
    time_program,
};

const PLAN: TimingPlan = TimingPlan {
    warmups: 1,
    pairs: 8,
    budget_seconds: None,
};

/// A program whose results a function gives, by how it runs and how often it ran like that before.
struct Played<F>(F, [u32; 2]);

impl<F: FnMut(ProgramVariant, u32) -> RunResult> ProgramRunner for Played<F> {
    type Error = GuardError;

    fn run_program(
        &mut self,
        variant: ProgramVariant,
        limit_seconds: Option<f64>,
    ) -> Result<RunResult, GuardError> {
        let turn = &mut self.1[usize::from(variant == ProgramVariant::With)];
        *turn += 1;
        let played = (self.0)(variant, *turn - 1);
        Ok(match played {
            RunResult::Succeeded { seconds, .. }
                if limit_seconds.is_some_and(|limit| seconds > limit) =>
            {
                RunResult::TooLong
            }
            _ => played,
        })
    }
}

/// Plays all runs of a program; larger figures are better if so said.
fn play(
    plan: &TimingPlan,
    is_higher_better: bool,
    script: impl FnMut(ProgramVariant, u32) -> RunResult,
) -> Result<TimedProgram, GuardError> {
    let mut timed = TimedProgram {
        is_higher_better,
        ..TimedProgram::default()
    };
    time_program(plan, &mut Played(script, [0; 2]), &mut timed)?;
    Ok(timed)
}

fn succeeded(seconds: f64) -> RunResult {
    RunResult::Succeeded {
        seconds,
        figure: None,
    }
}

/// A program that takes as long as a function says without the table, and `share` of that with it.
fn timed(plan: &TimingPlan, share: f64, seconds: fn(u32) -> f64) -> TimedProgram {
    let script = |variant, turn| {
        let factor = if variant == ProgramVariant::With {
            share
        } else {
            1.0
        };
        succeeded(seconds(turn) * factor)
    };
    play(plan, false, script).expect("runs")
}

#[test]
fn pairs_show_gains_and_losses_on_a_machine_that_becomes_slower() {
    let drifting = |turn: u32| 2.0 + f64::from(turn);
    let faster = timed(&PLAN, 0.8, drifting);
    assert_eq!(faster.verdict(0.0), ProgramVerdict::Faster);
    let gain = faster.gain().expect("pairs");
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
    let script = |variant, turn: u32| {
        let is_hit = variant == ProgramVariant::With && turn.is_multiple_of(3);
        succeeded(if is_hit {
            1.5
        } else {
            1.0 - 0.01 * f64::from(turn % 2)
        })
    };
    let mixed = play(&PLAN, false, script).expect("runs");
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
    let script = |variant, _| RunResult::Succeeded {
        seconds: 1.0,
        figure: Some(if variant == ProgramVariant::With {
            110.0
        } else {
            100.0
        }),
    };
    let better = play(&PLAN, true, script).expect("runs");
    assert_eq!(better.verdict(0.0), ProgramVerdict::Faster);
    assert!((better.gain().expect("pairs").speedup - 1.1).abs() < 1e-9);
    let worse = play(&PLAN, false, script).expect("runs");
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
fn a_program_that_fails_repeatedly_with_the_table_alone_is_the_tables_fault() {
    let failing_from = |first: u32| {
        move |variant, turn| {
            if variant == ProgramVariant::With && turn >= first {
                RunResult::Failed("ended with exit code 7".to_owned())
            } else {
                succeeded(1.0)
            }
        }
    };
    let failing = play(&PLAN, false, failing_from(3)).expect("runs");
    assert_eq!(failing.verdict(0.5), ProgramVerdict::Fails);
    assert_eq!(failing.failures.len(), 2);
    assert_eq!(failing.failures[0].pair, 3);
    // It came first in its pair, and no run was made after its repetition.
    assert_eq!(failing.runs.len(), 2 + 4);
    let always = |_, _| RunResult::Failed("ended with exit code 1".to_owned());
    assert_eq!(
        play(&PLAN, false, always)
            .expect_err("it fails")
            .to_string(),
        "the program fails without the table: it ended with exit code 1"
    );
}

#[test]
fn a_program_that_fails_now_and_then_is_run_again() {
    // Every third run fails, and its repetition does not.
    let mut count = 0;
    let unsteady = |_, _| {
        count += 1;
        if u32::is_multiple_of(count, 3) {
            RunResult::Failed("ended with exit code 1".to_owned())
        } else {
            succeeded(1.0)
        }
    };
    let error = play(&PLAN, false, unsteady).expect_err("it fails");
    assert!(matches!(error, GuardError::ProgramFails { .. }), "{error}");
    let once = |variant, turn| {
        if variant == ProgramVariant::With && turn == 2 {
            RunResult::Failed("ended with exit code 1".to_owned())
        } else {
            succeeded(1.0)
        }
    };
    let steady = play(&PLAN, false, once).expect("runs");
    assert_eq!(steady.verdict(0.0), ProgramVerdict::NoLoss);
    assert_eq!((steady.failures.len(), steady.runs.len()), (1, 18));
}

#[test]
fn a_program_that_hangs_with_the_table_fails() {
    let hanging = |variant, turn| {
        let hangs = variant == ProgramVariant::With && turn > 1;
        succeeded(if hangs { 1e9 } else { 1.0 })
    };
    let hung = play(&PLAN, false, hanging).expect("runs");
    assert_eq!(hung.verdict(0.0), ProgramVerdict::Fails);
    let reason = &hung.failures[0].reason;
    assert!(reason.contains("did not end within 60 s"), "{reason}");
    // A budget that ends before says nothing about the program.
    let short = TimingPlan {
        budget_seconds: Some(30.0),
        ..PLAN
    };
    let cut = play(&short, false, hanging).expect("runs");
    assert!(cut.is_out_of_time && cut.failures.is_empty(), "{cut:?}");
    assert_eq!(cut.verdict(0.0), ProgramVerdict::NothingShown);
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

//! Measuring until nothing is left, in one run or in many.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use agenda::Agenda;
use launcher::Outcome;
use schedule::Collective;
use store::Store;
use table::{Deployment, OperatorClass, Query};
use tuner::{
    CampaignAnalysis, Silent, TunerError, explain_decision, measure_campaign, read_history,
    tune_campaign,
};
use vocabulary::{CommShape, Pattern, Subject};
use wire::PlannedWork;

use crate::fake::{Bench, LaunchFailure, Witness, library, play};

pub(crate) fn never() -> AtomicBool {
    AtomicBool::new(false)
}

/// Every cell and experiment is in the store once for each of the six launches.
pub(crate) fn assert_complete(bench: &Bench) {
    let store = Store::open(&bench.campaign().output.store).expect("a store");
    let campaign = bench.campaign();
    let history = read_history(Some(&store), &library(), &campaign).expect("readable");
    let agenda = Agenda::new(&campaign, &history, &library(), &[]).expect("an agenda");
    let counts = store
        .launch_counts(&library(), Pattern::Together)
        .expect("counts");
    for (cell, candidates) in &agenda.scope.cells {
        for candidate in candidates {
            let count = counts.get(&(Subject::Cell(*cell), candidate.clone()));
            assert_eq!(count, Some(&6), "{candidate} in {cell}");
        }
    }
    let measured = counts.len();
    assert_eq!(
        measured,
        agenda.scope.candidate_count() + agenda.scope.experiments.len()
    );
}

#[test]
fn a_campaign_is_measured_only_once() {
    let bench = Bench::new("");
    let tuned = tune_campaign(&bench.workplace(), &mut Silent, &never()).expect("tuned");
    // The experiments first, since the block sizes of the cells follow from them.
    assert_eq!(tuned.measured.launches, 7);
    assert_eq!(tuned.measured.progress.done, tuned.measured.progress.total);
    assert_complete(&bench);
    let plans = bench.plans.lock().expect("plans").clone();
    assert!(
        plans[0]
            .tasks
            .iter()
            .all(|task| matches!(task.work, PlannedWork::Experiment(_)))
    );
    assert!(
        plans[1]
            .tasks
            .iter()
            .all(|task| matches!(task.work, PlannedWork::Compare { .. }))
    );
    let rounds: Vec<u32> = plans.iter().map(|plan| plan.tasks[0].round).collect();
    assert_eq!(rounds, [0, 0, 1, 2, 3, 4, 5]);

    let table = std::fs::read_to_string(&tuned.table_path).expect("a table");
    let report = std::fs::read_to_string(&tuned.report_path).expect("a report");
    let again = tune_campaign(&bench.workplace(), &mut Silent, &never()).expect("tuned");
    assert_eq!((again.measured.launches, bench.launches()), (0, 7));
    assert_eq!(
        std::fs::read_to_string(&again.table_path).expect("a table"),
        table
    );
    assert_eq!(
        std::fs::read_to_string(&again.report_path).expect("a report"),
        report
    );
}

#[test]
fn calls_of_another_pattern_are_measured_again_in_the_same_store() {
    let mut bench = Bench::new("");
    let together = tune_campaign(&bench.workplace(), &mut Silent, &never()).expect("tuned");
    bench.redirect("launches: 6", "launches: 6\npattern: repeated");
    let repeated = tune_campaign(&bench.workplace(), &mut Silent, &never()).expect("tuned");
    // The experiments are the same.
    assert_eq!(repeated.measured.launches, 6);
    let plans = bench.plans.lock().expect("plans").clone();
    let patterns = plans.iter().map(|plan| plan.tasks[0].pattern);
    let expected = [vec![Pattern::Together; 7], vec![Pattern::Repeated; 6]].concat();
    assert_eq!(patterns.collect::<Vec<_>>(), expected);

    let median = |analysis: &CampaignAnalysis| {
        let mut all = analysis.found.summaries.iter();
        let found = all.find(|summary| matches!(summary.subject, Subject::Cell(_)));
        found.expect("a cell").median_seconds
    };
    let ratio = median(&repeated.analysis) / median(&together.analysis);
    assert!((0.4..0.6).contains(&ratio), "{ratio}");
    let store = Store::open(&bench.campaign().output.store).expect("a store");
    let last = CampaignAnalysis::from_store(&store, None, None).expect("analysed");
    assert_eq!(last.found.summaries, repeated.analysis.found.summaries);

    assert_eq!(repeated.table.provenance.pattern, Pattern::Repeated);
    // Nothing was measured between nodes.
    assert!(repeated.table.provenance.networks.is_empty());
    let report = std::fs::read_to_string(&repeated.report_path).expect("a report");
    assert!(report.contains("times of repeated calls"));
    let query = Query {
        order: vocabulary::RankOrder::Unknown,
        collective: Collective::Allreduce,
        shape: CommShape { nodes: 1, ppn: 4 },
        bytes: 64,
        operators: OperatorClass::Commutative,
        deployment: Deployment::Colltune,
    };
    let evidence = |table| {
        let explained = explain_decision(table, &query, store.path()).expect("explained");
        (
            explained.pattern,
            !explained.evidence.is_empty(),
            explained.no_evidence.is_some(),
        )
    };
    assert_eq!(evidence(&repeated.table), (Pattern::Repeated, true, false));
    assert_eq!(evidence(&together.table), (Pattern::Together, false, true));

    bench.redirect("\npattern: repeated", "");
    let before =
        CampaignAnalysis::from_store(&store, None, Some(&bench.campaign())).expect("analysed");
    assert_eq!(before.found.summaries, together.analysis.found.summaries);
}

#[test]
fn after_an_interrupt_measuring_continues_and_repeats_nothing() {
    let undisturbed = Bench::new("");
    let expected = tune_campaign(&undisturbed.workplace(), &mut Silent, &never()).expect("tuned");
    let bench = Bench::new("");
    let mut interruptions = 0;
    for stop_after in (1..).step_by(7) {
        let stop = Arc::new(AtomicBool::new(false));
        let mut witness = Witness {
            stop: Arc::clone(&stop),
            stop_after: Some(stop_after),
            ..Witness::default()
        };
        match measure_campaign(&bench.workplace(), &mut witness, &stop) {
            Ok(_) => break,
            Err(TunerError::Interrupted) => interruptions += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(interruptions >= 5, "{interruptions}");
    assert_complete(&bench);
    // As many tasks were finished as without interruptions: none was made twice.
    let store = Store::open(&bench.campaign().output.store).expect("a store");
    let total: u64 = expected.measured.progress.total;
    let tasks: u64 = store
        .launch_counts(&library(), Pattern::Together)
        .expect("counts")
        .into_iter()
        .filter(|((_, candidate), _)| *candidate == vocabulary::Candidate::Default)
        .map(|(_, launches)| u64::from(launches))
        .sum();
    assert_eq!(tasks, total);
}

#[test]
fn the_spool_of_a_killed_colltune_is_stored_first() {
    let bench = Bench::new("");
    let at = bench.workplace();
    let stop = Arc::new(AtomicBool::new(false));
    let mut witness = Witness {
        stop: Arc::clone(&stop),
        stop_after: Some(40),
        ..Witness::default()
    };
    measure_campaign(&at, &mut witness, &stop).expect_err("interrupted");
    // A launch that was begun, with a spool that was not read.
    let path = &at.campaign.output.store;
    let mut store = Store::open(path).expect("a store");
    let mut plan = bench
        .plans
        .lock()
        .expect("plans")
        .last()
        .expect("a plan")
        .clone();
    plan.launch = store.next_launch().expect("a number");
    plan.spool = bench.path("left.spool");
    store.begin_launch(&plan).expect("begun");
    let lines: String = play(&plan, 4, &LaunchFailure::default(), 0.01)
        .iter()
        .map(|record| serde_json::to_string(record).expect("a record") + "\n")
        .collect();
    std::fs::write(&plan.spool, lines + "{\"record\":\"done\",\"ta").expect("written");
    drop(store);
    let mut next_witness = Witness::default();
    measure_campaign(&bench.workplace(), &mut next_witness, &never()).expect("measured");
    assert!(
        next_witness.told[0].contains("Recovered { launches: 1 }"),
        "{:?}",
        next_witness.told
    );
    assert_complete(&bench);
}

#[test]
fn launches_killed_from_outside_are_repeated_and_attributed_to_no_candidate() {
    let mut bench = Bench::new("");
    for (launch, tasks) in [(2, 5), (4, 1), (5, 11)] {
        let after_tasks = Some((tasks, Outcome::Signal(9)));
        bench.failures.insert(
            launch,
            LaunchFailure {
                after_tasks,
                ..LaunchFailure::default()
            },
        );
    }
    let mut witness = Witness::default();
    measure_campaign(&bench.workplace(), &mut witness, &never()).expect("measured");
    assert_eq!(
        witness
            .told
            .iter()
            .filter(|told| told.starts_with("Died"))
            .count(),
        3
    );
    assert_complete(&bench);
    assert_eq!(bench.launches(), 10);
}

#[test]
fn the_budget_ends_measuring() {
    let mut bench = Bench::new("");
    bench.elapsed_seconds = 0.5;
    let mut witness = Witness::default();
    let measured = measure_campaign(&bench.workplace(), &mut witness, &never()).expect("measured");
    assert!(measured.progress.done < measured.progress.total);
    assert!(
        witness
            .told
            .iter()
            .any(|told| told.starts_with("BudgetSpent"))
    );
    let launches = bench.launches();
    measure_campaign(&bench.workplace(), &mut Silent, &never()).expect("measured");
    assert_eq!(bench.launches(), launches, "a spent budget stays spent");
}

#[test]
fn a_budget_too_short_for_starting_up_ends_measuring() {
    let mut bench = Bench::new("");
    bench.failures.insert(
        3,
        LaunchFailure {
            too_late: true,
            ..LaunchFailure::default()
        },
    );
    let mut witness = Witness::default();
    let measured = measure_campaign(&bench.workplace(), &mut witness, &never()).expect("measured");
    assert_eq!((measured.launches, bench.launches()), (3, 3));
    assert!(
        witness
            .told
            .iter()
            .any(|told| told.starts_with("BudgetSpent"))
    );
}

#[test]
fn slices_add_up_to_at_most_the_rest_of_the_budget() {
    let plans = |elapsed_seconds| {
        let mut bench = Bench::new("collectives: [bcast, reduce, allreduce]\n");
        bench.elapsed_seconds = elapsed_seconds;
        measure_campaign(&bench.workplace(), &mut Silent, &never()).expect("measured");
        let plans = bench.plans.lock().expect("plans").clone();
        assert_eq!(plans.len(), 7);
        plans
    };
    let quick = plans(0.01);
    // Nearly all of the 60 seconds, so that all launches are made, and the last have little left.
    let tasks: usize = quick.iter().map(|plan| plan.tasks.len()).sum();
    let slow = plans(0.94 * 60.0 / tasks as f64);
    for (launch, plan) in slow.iter().enumerate().skip(1) {
        let turns: usize = plan
            .tasks
            .iter()
            .map(|task| match &task.work {
                PlannedWork::Compare { candidates, .. } => candidates.len(),
                PlannedWork::Experiment(_) => 1,
            })
            .sum();
        let promised = plan.repetition.slice_seconds * turns as f64 * (7 - launch) as f64;
        let left = plan.deadline_seconds.expect("a deadline");
        assert!(
            promised <= left,
            "{promised} s of {left} s in launch {launch}"
        );
        assert!(plan.repetition.slice_seconds < quick[launch].repetition.slice_seconds);
        assert!(left < slow[launch - 1].deadline_seconds.expect("a deadline"));
    }
}

#[test]
fn only_one_process_measures_into_a_store() {
    let bench = Bench::new("");
    let path = bench.campaign().output.store;
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("created");
    let _lock = store::Lock::acquire(&path).expect("free");
    let refused = measure_campaign(&bench.workplace(), &mut Silent, &never()).expect_err("locked");
    assert!(
        matches!(refused, TunerError::Store(store::StoreError::Locked { .. })),
        "{refused}"
    );
    assert_eq!(bench.launches(), 0);
}

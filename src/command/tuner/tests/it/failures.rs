//! Candidates and launchers that fail.

use std::sync::atomic::AtomicBool;

use launcher::{LaunchError, Outcome};
use schedule::Collective;
use store::Store;
use tuner::{Silent, TunerError, measure_campaign, tune_campaign};
use vocabulary::{Library, NativeAlgorithm, Pattern, RankOrder};
use wire::{FailureKind, exit_code};

use crate::fake::{Bench, LaunchFailure, Witness, library, play};

fn never() -> AtomicBool {
    AtomicBool::new(false)
}

#[test]
fn a_candidate_that_ends_its_launch_repeatedly_is_left_out() {
    let process = "the end of process 1";
    for (outcome, says, kind, attempts) in [
        (Outcome::Code(139), None, FailureKind::Crash, 1),
        (Outcome::Code(1), Some(process), FailureKind::Crash, 1),
        // A single end may have had another cause.
        (Outcome::Code(1), None, FailureKind::Crash, 2),
        (Outcome::Success, Some(process), FailureKind::Crash, 2),
        (Outcome::Code(137), Some(process), FailureKind::Crash, 2),
        (Outcome::Code(9), Some(process), FailureKind::Crash, 2),
        (Outcome::Code(exit_code::HANG), None, FailureKind::Hang, 1),
        (
            Outcome::Code(exit_code::TURN),
            None,
            FailureKind::MpiError,
            1,
        ),
    ] {
        let mut bench = Bench::new("collectives: [allreduce]\nparameters: {through: mpi}\n");
        bench.redirect(
            "shapes: [1x2, 1x4]\nsizes: 64..4M x256",
            "shapes: [1x4]\nsizes: [64, 1M]",
        );
        bench.always.at_candidate = Some(("allreduce/ring".to_owned(), outcome));
        bench.always.says = says;
        let mut witness = Witness::default();
        let tuned = tune_campaign(&bench.workplace(), &mut witness, &never()).expect("tuned");
        // The first launch has only the experiments.
        assert_eq!(bench.launches(), 1 + 2 * attempts + 6, "{outcome:?}");
        let store = Store::open(&bench.campaign().output.store).expect("a store");
        let failures = store.failures(&library()).expect("failures");
        // It failed once in each of the two cells, and was not tried again there.
        assert_eq!(failures.len(), 2, "{failures:?}");
        for failure in &failures {
            assert_eq!((failure.kind, failure.candidate.id()), (kind, "ring"));
            assert!(failure.message.contains("the end"), "{}", failure.message);
        }
        assert_eq!(
            witness
                .told
                .iter()
                .filter(|told| told.starts_with("Failed"))
                .count(),
            2
        );
        assert_eq!(tuned.measured.progress.done, tuned.measured.progress.total);
        let mut entries = tuned.table.collectives.values().flatten();
        assert!(entries.all(|entry| {
            let mut rules = entry.rules.iter();
            rules.all(|rule| rule.candidate.id() != "ring")
        }));
        let report = std::fs::read_to_string(&tuned.report_path).expect("a report");
        assert!(
            report.contains("allreduce/ring"),
            "the report says what failed"
        );
    }
}

/// A preset of Intel MPI is in force when MPI starts, so it may end its launch before the driver tells anything.
#[test]
fn an_algorithm_that_ends_mpi_as_it_starts_is_left_out_and_the_others_are_measured() {
    let mut bench = Bench::new(
        "collectives: [bcast]\ncandidates: ['native:bcast/*']\nparameters: {through: mpi}\n",
    );
    bench.redirect(
        "shapes: [1x2, 1x4]\nsizes: 64..4M x256",
        "shapes: [1x4]\nsizes: [64, 1M]",
    );
    bench.library = Library {
        name: "intelmpi".to_owned(),
        version: "2021.19.0".to_owned(),
    };
    bench.natives = ["preset_1", "preset_2"]
        .map(|id| NativeAlgorithm {
            collective: Collective::Bcast,
            id: id.to_owned(),
            takes_segments: false,
            takes_fanout: false,
            takes_requests: false,
            is_ordered: true,
        })
        .to_vec();
    bench.always.silent_with = Some(("I_MPI_ADJUST_BCAST", "1", Outcome::Code(139)));
    tune_campaign(&bench.workplace(), &mut Silent, &never()).expect("tuned");
    let store = Store::open(&bench.campaign().output.store).expect("a store");
    let failures = store.failures(&bench.library).expect("failures");
    let failed: Vec<_> = failures
        .iter()
        .map(|failure| failure.candidate.id())
        .collect();
    assert_eq!(failed, ["preset_1"; 2]);
    let samples = store
        .samples(&bench.library, Pattern::Together)
        .expect("samples");
    let launches = |id: &str| {
        let of_candidate = samples.iter().filter(|sample| {
            sample.subject.cell().is_some_and(|cell| cell.bytes == 64)
                && sample.candidate.id() == id
        });
        of_candidate.count()
    };
    assert_eq!([launches("preset_1"), launches("preset_2")], [0, 6]);
    assert!(launches("default") >= 6);
}

/// As if memory ran out for both candidates: a third launch without a result would end the campaign.
#[test]
fn of_two_candidates_killed_in_turn_the_one_killed_again_is_left_out() {
    let mut bench = Bench::new("collectives: [allreduce]\n");
    bench.redirect(
        "shapes: [1x2, 1x4]\nsizes: 64..4M x256",
        "shapes: [1x4]\nsizes: [64]",
    );
    let killers = ["ring", "rabenseifner", "ring"].map(|name| format!("allreduce/{name}"));
    for (launch, killer) in (2..).zip(killers) {
        let failure = LaunchFailure {
            at_candidate: Some((killer, Outcome::Code(137))),
            says: Some("the end of process 1"),
            ..LaunchFailure::default()
        };
        bench.failures.insert(launch, failure);
    }
    let measured = measure_campaign(&bench.workplace(), &mut Silent, &never()).expect("measured");
    assert_eq!(measured.progress.done, measured.progress.total);
    let store = Store::open(&bench.campaign().output.store).expect("a store");
    let failures = store.failures(&library()).expect("failures");
    let names: Vec<&str> = failures
        .iter()
        .map(|failure| failure.candidate.id())
        .collect();
    assert_eq!(names, ["ring"]);
}

#[test]
fn a_launch_ended_from_outside_is_attributed_to_no_candidate() {
    let codes = [143, 130, 129, 15, 1, 137, 9].map(Outcome::Code);
    for outcome in [&codes[..], &[Outcome::Success, Outcome::Signal(15)]].concat() {
        let mut bench = Bench::new("");
        bench.failures.insert(
            2,
            LaunchFailure {
                after_tasks: Some((3, outcome)),
                ..LaunchFailure::default()
            },
        );
        let measured =
            measure_campaign(&bench.workplace(), &mut Silent, &never()).expect("measured");
        assert_eq!(measured.progress.done, measured.progress.total);
        let store = Store::open(&bench.campaign().output.store).expect("a store");
        assert_eq!(store.failures(&library()).expect("failures"), []);
    }
}

/// With the messages of Open MPI and MPICH.
#[test]
fn a_lost_node_is_named_and_attributed_to_no_candidate() {
    let open_mpi = "ORTE has lost communication with a remote daemon.\n\n  \
        HNP daemon   : [[10641,0],0] on node n1\n  Remote daemon: [[10641,0],1] on node n2";
    let mpich = "[mpiexec@n1] control_cb (pm/pmiserv/pmiserv_cb.c:206): assert (!closed) failed";
    for (code, says, part) in [
        (205, open_mpi, "a node of the job failed: n2"),
        (255, mpich, "a node of the job failed"),
    ] {
        let mut bench = Bench::new("");
        bench.failures.insert(
            2,
            LaunchFailure {
                after_tasks: Some((3, Outcome::Code(code))),
                says: Some(says),
                ..LaunchFailure::default()
            },
        );
        let mut witness = Witness::default();
        let measured =
            measure_campaign(&bench.workplace(), &mut witness, &never()).expect("measured");
        assert_eq!(measured.progress.done, measured.progress.total);
        let store = Store::open(&bench.campaign().output.store).expect("a store");
        assert_eq!(store.failures(&library()).expect("failures"), []);
        let told = witness.told.iter().find(|told| told.starts_with("Died"));
        assert!(told.is_some_and(|told| told.contains(part)), "{told:?}");
    }
}

#[test]
fn a_candidate_is_no_longer_suspected_once_its_task_is_done() {
    let mut bench = Bench::new("collectives: [allreduce]\n");
    bench.redirect(
        "shapes: [1x2, 1x4]\nsizes: 64..4M x256",
        "shapes: [1x4]\nsizes: [64]",
    );
    // Both launches end in the first experiment; the launch between them succeeds.
    for launch in [4, 6] {
        let failure = LaunchFailure {
            after_tasks: Some((0, Outcome::Code(1))),
            ..LaunchFailure::default()
        };
        bench.failures.insert(launch, failure);
    }
    let measured = measure_campaign(&bench.workplace(), &mut Silent, &never()).expect("measured");
    assert_eq!(measured.progress.done, measured.progress.total);
    assert_eq!(bench.launches(), 1 + 6 + 2);
    let store = Store::open(&bench.campaign().output.store).expect("a store");
    assert_eq!(store.failures(&library()).expect("failures"), []);
}

#[test]
fn a_launcher_that_never_starts_anything_is_an_error_at_once() {
    let mut bench = Bench::new("");
    bench.always.silent = Some(Outcome::Code(1));
    let error = measure_campaign(&bench.workplace(), &mut Silent, &never()).expect_err("failed");
    assert!(
        matches!(error, TunerError::Launch(LaunchError::Failed { .. })) && bench.launches() == 1,
        "{error}"
    );
    assert!(error.to_string().contains("the end"), "{error}");
}

/// As under a launcher that starts ranks which do not find each other, and one that was asked for other ranks.
#[test]
fn a_launch_that_starts_other_ranks_is_an_error_and_leaves_nothing() {
    let campaign = "collectives: [allreduce]\n";
    let shape = |bench: &mut Bench| {
        let shapes = "shapes: [1x4]\nsizes: [64]";
        bench.redirect("shapes: [1x2, 1x4]\nsizes: 64..4M x256", shapes);
    };
    let mut untouched = Bench::new(campaign);
    shape(&mut untouched);
    let expected = tune_campaign(&untouched.workplace(), &mut Silent, &never()).expect("tuned");
    let four = vec![vec![1]; 4];
    // The launches before it are kept.
    for (misstart, worlds, found) in [
        (1, four.clone(), "1 rank on 1 node"),
        (4, four, "1 rank on 1 node"),
        (1, vec![vec![3]], "3 ranks on 1 node"),
        (1, vec![vec![5]], "5 ranks on 1 node"),
        (3, vec![vec![2, 2]], "4 ranks on 2 nodes"),
        (1, vec![vec![4], vec![4]], ""),
    ] {
        let mut bench = Bench::new(campaign);
        shape(&mut bench);
        bench.failures.insert(
            misstart,
            LaunchFailure {
                worlds: worlds.clone(),
                ..LaunchFailure::default()
            },
        );
        let mut witness = Witness::default();
        let error = tune_campaign(&bench.workplace(), &mut witness, &never()).expect_err("refused");
        match &error {
            TunerError::OtherStart { asked, world, .. } => {
                assert_eq!((&*asked.to_string(), &*world.to_string()), ("1x4", found));
            }
            TunerError::SeveralStarts { .. } => assert_eq!(found, "", "{error}"),
            other => panic!("{other}"),
        }
        assert_eq!(error.kind(), vocabulary::ErrorKind::Environment);
        assert_eq!(bench.launches() as u32, misstart, "{worlds:?}");
        let failed = |told: &String| told.starts_with("Failed");
        assert!(!witness.told.iter().any(failed), "{:?}", witness.told);
        let table = bench.campaign().output.table;
        assert!(!table.exists(), "a table was decided");
        let store = Store::open(&bench.campaign().output.store).expect("a store");
        assert_eq!(store.failures(&library()).expect("failures"), []);
        let environments = store.environments(&library()).expect("environments");
        let numbers = environments.iter().map(|(number, _)| *number);
        // Of several complete worlds the start of the first is stored.
        let known = (1..misstart).chain(found.is_empty().then_some(misstart));
        assert!(numbers.eq(known), "{worlds:?}");
        let measured = store.measured_launches(&library()).expect("launches");
        assert!(!measured.contains(&misstart), "{worlds:?}");
        drop(store);

        // The next run is as if it had not been.
        bench.failures.clear();
        let tuned = tune_campaign(&bench.workplace(), &mut Silent, &never()).expect("tuned");
        assert_eq!(tuned.measured.progress, expected.measured.progress);
        assert_eq!(bench.launches(), untouched.launches() + 1);
        let rules = |decided: &table::Table| format!("{:?}", decided.collectives);
        assert_eq!(rules(&tuned.table), rules(&expected.table), "{worlds:?}");
    }
}

/// The command was killed before it could compare the start of the launch with its plan.
#[test]
fn a_spool_of_too_few_ranks_is_not_taken_in() {
    let bench = Bench::new("");
    let at = bench.workplace();
    let mut witness = Witness {
        stop_after: Some(40),
        ..Witness::default()
    };
    let stop = std::sync::Arc::clone(&witness.stop);
    measure_campaign(&at, &mut witness, &stop).expect_err("interrupted");
    let mut store = Store::open(&at.campaign.output.store).expect("a store");
    let plans = bench.plans.lock().expect("plans").clone();
    let mut plan = plans.last().expect("a plan").clone();
    plan.launch = store.next_launch().expect("a number");
    plan.spool = bench.path("small.spool");
    store.begin_launch(&plan).expect("begun");
    let small = LaunchFailure {
        worlds: vec![vec![1]],
        ..LaunchFailure::default()
    };
    let records = play(&plan, 1, &small, 0.01);
    let lines = records
        .iter()
        .map(|record| serde_json::to_string(record).expect("a record"));
    let text = lines.collect::<Vec<String>>().join("\n") + "\n";
    std::fs::write(&plan.spool, text).expect("written");
    drop(store);
    let measured = measure_campaign(&bench.workplace(), &mut Silent, &never()).expect("measured");
    assert_eq!(measured.progress.done, measured.progress.total);
    let reopened = Store::open(&bench.campaign().output.store).expect("a store");
    let taken_in = reopened.measured_launches(&library()).expect("launches");
    assert!(!taken_in.contains(&plan.launch));
    assert!(taken_in.contains(&(plan.launch + 1)));
}

#[test]
fn a_driver_that_refuses_its_plan_is_an_error_at_once() {
    for code in [
        exit_code::PLAN,
        exit_code::LIBRARY,
        exit_code::FAILED,
        exit_code::START,
    ] {
        let mut bench = Bench::new("");
        bench.always.after_tasks = Some((3, Outcome::Code(code)));
        let error =
            measure_campaign(&bench.workplace(), &mut Silent, &never()).expect_err("failed");
        assert!(matches!(error, TunerError::Launch(_)), "{error}");
        assert_eq!(bench.launches(), 1);
    }
}

#[test]
fn measuring_ends_after_three_launches_killed_before_they_measure() {
    let mut bench = Bench::new("");
    bench.always.after_tasks = Some((0, Outcome::Signal(9)));
    let error =
        measure_campaign(&bench.workplace(), &mut Silent, &never()).expect_err("no progress");
    assert!(
        matches!(error, TunerError::NoProgress { launches: 3, .. }),
        "{error}"
    );
    assert_eq!(bench.launches(), 3);
}

#[test]
fn outputs_are_checked_before_measuring() {
    let mut bench = Bench::new("");
    let file = bench.path("file");
    std::fs::write(&file, "in the way").expect("written");
    bench.redirect("tables/bench.yaml", "file/bench.yaml");
    let error = tune_campaign(&bench.workplace(), &mut Silent, &never()).expect_err("not writable");
    assert!(matches!(error, TunerError::Output { .. }), "{error}");
    assert_eq!(bench.launches(), 0);
    assert_eq!(
        std::fs::read_to_string(&file).expect("readable"),
        "in the way"
    );
}

#[test]
fn damage_in_a_spool_costs_only_the_launch() {
    let bench = Bench::new("");
    let at = bench.workplace();
    let stop = std::sync::Arc::new(AtomicBool::new(false));
    let mut witness = Witness {
        stop: std::sync::Arc::clone(&stop),
        stop_after: Some(40),
        ..Witness::default()
    };
    measure_campaign(&at, &mut witness, &stop).expect_err("interrupted");
    let mut store = Store::open(&at.campaign.output.store).expect("a store");
    let mut plan = bench
        .plans
        .lock()
        .expect("plans")
        .last()
        .expect("a plan")
        .clone();
    plan.launch = store.next_launch().expect("a number");
    plan.spool = bench.path("damaged.spool");
    store.begin_launch(&plan).expect("begun");
    std::fs::write(&plan.spool, "no record\n").expect("written");
    drop(store);
    let measured = measure_campaign(&bench.workplace(), &mut Silent, &never()).expect("measured");
    assert_eq!(measured.progress.done, measured.progress.total);
    let reopened = Store::open(&bench.campaign().output.store).expect("a store");
    let launch = reopened
        .launches()
        .expect("launches")
        .into_iter()
        .find(|l| l.number == plan.launch);
    assert!(matches!(
        launch.and_then(|launch| launch.outcome),
        Some(store::LaunchOutcome::Died { message }) if message.contains("damaged.spool")
    ));
}

#[test]
fn measurements_under_other_conditions_are_not_mixed() {
    let mut bench = Bench::new("");
    measure_campaign(&bench.workplace(), &mut Silent, &never()).expect("measured");
    let launches = bench.launches();
    bench.redirect(
        "launches: 6",
        "launches: 6\nlauncher: {local: {environment: {OMPI_MCA_btl: self}}}",
    );
    let error =
        tune_campaign(&bench.workplace(), &mut Silent, &never()).expect_err("other conditions");
    assert!(
        matches!(error, TunerError::OtherConditions { .. }),
        "{error}"
    );
    assert!(
        error
            .help()
            .is_some_and(|help| help.contains("output.store"))
    );
    assert_eq!(bench.launches(), launches);
}

#[test]
fn a_launch_with_ranks_in_another_order_is_refused() {
    let mut bench = Bench::new("");
    bench.always.order = RankOrder::Cyclic;
    bench.failures.insert(
        3,
        LaunchFailure {
            order: RankOrder::Block,
            ..LaunchFailure::default()
        },
    );
    let error =
        tune_campaign(&bench.workplace(), &mut Silent, &never()).expect_err("another order");
    let text = error.to_string();
    assert!(
        text.starts_with("launch 3 has the ranks of 1x2 in block order"),
        "{text}"
    );
    let store = Store::open(&bench.campaign().output.store).expect("a store");
    let samples = store
        .samples(&library(), Pattern::Together)
        .expect("samples");
    assert!(
        samples.iter().all(|sample| sample.launch < 3),
        "{samples:?}"
    );
    drop(store);
    // The store stays usable: the next launch is like the others.
    let tuned = tune_campaign(&bench.workplace(), &mut Silent, &never()).expect("tuned");
    assert_eq!(tuned.measured.progress.done, tuned.measured.progress.total);
    // On one node the order makes no difference, and the table names none.
    let mut entries = tuned.table.entries();
    assert!(entries.all(|entry| entry.order.is_unknown()));
}

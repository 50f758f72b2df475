//! Campaigns with launches in jobs of a batch system.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use answers::{JobStateName, Measured, SubmittedLaunch};
use launcher::BatchEnd;
use store::{LaunchOutcome, Store, StoreError};
use tuner::{
    CampaignAnalysis, Silent, TunerError, measure_campaign, measure_cells, submit_next_launch,
    tune_campaign,
};
use vocabulary::{Candidate, Pattern, Subject};
use wire::PlannedWork;

use crate::cluster::Fate;
use crate::fake::{Bench, Witness, library};
use crate::loops::{assert_complete, never};

fn bench(further: &str) -> Bench {
    Bench::on_a_cluster(&format!("launcher: {{slurm: {{{further}}}}}\n"))
}

fn complete(measured: Measured) {
    assert_eq!(measured.progress.done, measured.progress.total);
}

fn store(bench: &Bench) -> Store {
    Store::open(&bench.campaign().output.store).expect("a store")
}

fn outcome(bench: &Bench, launch: u32) -> Option<LaunchOutcome> {
    let launches = store(bench).launches().expect("launches");
    let row = launches.into_iter().find(|row| row.number == launch);
    row.expect("a launch").outcome
}

/// Stops after `after` tasks.
fn interrupted(bench: &Bench, after: u32) -> TunerError {
    let stop = Arc::new(AtomicBool::new(false));
    let mut witness = Witness {
        stop: Arc::clone(&stop),
        stop_after: Some(after),
        ..Witness::default()
    };
    measure_campaign(&bench.workplace(), &mut witness, &stop).expect_err("interrupted")
}

#[test]
fn jobs_are_followed_from_the_queue_to_the_table() {
    let bench = bench("");
    let mut witness = Witness::default();
    let tuned = tune_campaign(&bench.workplace(), &mut witness, &never()).expect("tuned");
    assert_complete(&bench);
    assert_eq!(tuned.measured.launches, 7);
    for number in 1..=7 {
        let id = 4710 + number;
        let queued =
            format!("Queued {{ number: {number}, id: \"{id}\", reason: Some(\"Priority\") }}");
        let running =
            format!("Running {{ number: {number}, id: \"{id}\", nodes: [\"n16\", \"n17\"] }}");
        for told in [queued, running] {
            let times = witness.told.iter().filter(|other| **other == told).count();
            assert_eq!(times, 1, "{told} in {:?}", witness.told);
        }
    }
    let cluster = bench.cluster();
    assert!(
        cluster
            .asked
            .values()
            .all(|job| job.keep && job.begin_in.is_none())
    );
    assert_eq!((cluster.closed, &cluster.killed[..]), (1, &[][..]));
}

#[test]
fn a_job_continues_after_an_interrupt_and_the_next_run_follows_it() {
    let bench = bench("");
    let mut interruptions = 0;
    for after in [1, 60, 90, 3] {
        let error = interrupted(&bench, after);
        assert!(
            matches!(&error, TunerError::Left { id, .. } if id.starts_with("471")),
            "{error}"
        );
        assert!(error.help().is_some_and(|help| help.contains("cancel")));
        interruptions += 1;
        if interruptions % 2 == 0 {
            bench.cluster().pass_time();
        }
    }
    complete(measure_campaign(&bench.workplace(), &mut Silent, &never()).expect("measured"));
    assert_complete(&bench);
    let cluster = bench.cluster();
    assert_eq!(cluster.asked.len(), 7, "no launch was made twice");
    assert_eq!((cluster.closed, &cluster.killed[..]), (1, &[][..]));
    for launch in 1..=7 {
        assert_eq!(outcome(&bench, launch), Some(LaunchOutcome::Complete));
    }
}

#[test]
fn detached_runs_are_repeated_until_all_is_measured() {
    let bench = bench("");
    let once = || -> SubmittedLaunch {
        submit_next_launch(&bench.workplace(), &mut Silent, &never()).expect("submitted")
    };
    for launch in 1..=7 {
        let first = once().job.expect("a job");
        assert_eq!((first.launch, first.is_new), (launch, true));
        assert_eq!(first.id, (4710 + launch).to_string());
        assert_eq!(first.state.name, JobStateName::Queued);
        let again = once().job.expect("the same job");
        assert_eq!((again.launch, again.is_new), (launch, false));
        bench.cluster().pass_time();
    }
    let last = once();
    assert_eq!(last.job, None);
    assert_eq!(last.progress.done, last.progress.total);
    assert_complete(&bench);
    let cluster = bench.cluster();
    assert!(cluster.asked.values().all(|job| !job.keep));
    assert_eq!((cluster.closed, cluster.asked.len()), (1, 7));
}

#[test]
fn launches_ended_by_the_batch_system_are_repeated_and_attributed_to_no_candidate() {
    for (end, part) in [
        (BatchEnd::WallTime, "wall time"),
        (BatchEnd::Preempted, "pre-empted"),
        (BatchEnd::NodeFailed, "n17"),
        (BatchEnd::OutOfMemory, "in the turn of "),
        (BatchEnd::Lost, ""),
    ] {
        let bench = bench("");
        for launch in [2, 3] {
            let after_tasks = Some((4, end));
            let fate = Fate {
                after_tasks,
                ..Fate::default()
            };
            bench.cluster().fates.insert(launch, fate);
        }
        let mut witness = Witness::default();
        complete(measure_campaign(&bench.workplace(), &mut witness, &never()).expect("measured"));
        assert_complete(&bench);
        assert_eq!(bench.cluster().asked.len(), 9, "{end:?}");
        assert_eq!(store(&bench).failures(&library()).expect("failures"), []);
        let told = witness.told.iter().find(|told| told.starts_with("Died"));
        assert!(told.is_some_and(|told| told.contains(part)), "{told:?}");
        let Some(LaunchOutcome::Died { message }) = outcome(&bench, 2) else {
            panic!("{end:?}");
        };
        assert!(message.contains(part), "{message}");
        // The batch system knows why it ended a job; the launcher only notices that its daemons are gone.
        let is_node = matches!(end, BatchEnd::NodeFailed | BatchEnd::Lost);
        assert_eq!(
            message.contains("a node of the job failed"),
            is_node,
            "{message}"
        );
    }
}

#[test]
fn jobs_that_end_before_their_launch_begins_are_submitted_again_a_few_times() {
    let bench = bench("");
    let unbegun = Fate {
        at_once: Some(BatchEnd::NotBegun),
        ..Fate::default()
    };
    for launch in [1, 2, 3, 5, 6, 7, 8] {
        bench.cluster().fates.insert(launch, unbegun.clone());
    }
    complete(measure_campaign(&bench.workplace(), &mut Silent, &never()).expect("measured"));
    assert_complete(&bench);

    let hopeless_bench = self::bench("");
    hopeless_bench.cluster().always = unbegun;
    let error = measure_campaign(&hopeless_bench.workplace(), &mut Silent, &never())
        .expect_err("never begun");
    assert!(
        matches!(error, TunerError::NeverBegun { jobs: 5, .. }),
        "{error}"
    );
    assert_eq!(hopeless_bench.cluster().asked.len(), 5);
}

/// It may still wait, and another job would run beside it.
#[test]
fn a_job_that_is_forgotten_before_it_measures_is_the_last() {
    let bench = bench("");
    let lost = Fate {
        at_once: Some(BatchEnd::Lost),
        ..Fate::default()
    };
    bench.cluster().fates.insert(2, lost);
    let error = measure_campaign(&bench.workplace(), &mut Silent, &never()).expect_err("lost");
    assert!(matches!(error, TunerError::LostJob { .. }), "{error}");
    assert_eq!(error.kind(), vocabulary::ErrorKind::Environment);
    assert_eq!(bench.cluster().asked.len(), 2);
    complete(measure_campaign(&bench.workplace(), &mut Silent, &never()).expect("measured"));
    assert_complete(&bench);
}

/// The further launches of its job would start in the same way.
#[test]
fn a_job_that_starts_other_ranks_is_ended() {
    for is_followed in [true, false] {
        let bench = bench("");
        let fate = Fate {
            worlds: vec![vec![1]; 4],
            ..Fate::default()
        };
        bench.cluster().fates.insert(1, fate);
        let error = if is_followed {
            measure_campaign(&bench.workplace(), &mut Silent, &never()).expect_err("refused")
        } else {
            submit_next_launch(&bench.workplace(), &mut Silent, &never()).expect("submitted");
            bench.cluster().pass_time();
            submit_next_launch(&bench.workplace(), &mut Silent, &never()).expect_err("refused")
        };
        assert!(matches!(error, TunerError::OtherStart { .. }), "{error}");
        let told = error.to_string();
        assert!(
            told.contains("1 rank on 1 node, and not the 4 ranks of 1x4"),
            "{told}"
        );
        let died = |outcome: &LaunchOutcome| matches!(outcome, LaunchOutcome::Died { .. });
        assert!(outcome(&bench, 1).as_ref().is_some_and(died));
        assert_eq!(bench.cluster().asked.len(), 1);
        assert_eq!(store(&bench).failures(&library()).expect("failures"), []);
        complete(measure_campaign(&bench.workplace(), &mut Silent, &never()).expect("measured"));
        assert_complete(&bench);
    }
}

#[test]
fn a_cancelled_job_ends_the_run_and_the_next_run_continues() {
    let bench = bench("");
    let fate = Fate {
        after_tasks: Some((4, BatchEnd::Cancelled)),
        ..Fate::default()
    };
    for launch in [2, 3] {
        bench.cluster().fates.insert(launch, fate.clone());
    }
    let error = measure_campaign(&bench.workplace(), &mut Silent, &never()).expect_err("cancelled");
    assert!(matches!(error, TunerError::Cancelled), "{error}");
    assert_eq!(bench.cluster().asked.len(), 2);
    // A job is cancelled between two commands: the later one continues.
    let left = submit_next_launch(&bench.workplace(), &mut Silent, &never()).expect("submitted");
    assert_eq!(left.job.expect("a job").launch, 3);
    bench.cluster().pass_time();
    complete(measure_campaign(&bench.workplace(), &mut Silent, &never()).expect("measured"));
    assert_complete(&bench);
}

#[test]
fn a_wall_time_stops_a_launch_in_time_and_another_follows() {
    let bench = bench("");
    for launch in [2, 3] {
        let fate = Fate {
            in_time: Some(5),
            ..Fate::default()
        };
        bench.cluster().fates.insert(launch, fate);
    }
    let mut witness = Witness::default();
    complete(measure_campaign(&bench.workplace(), &mut witness, &never()).expect("measured"));
    assert_complete(&bench);
    assert_eq!(bench.cluster().asked.len(), 9);
    for number in [2, 3] {
        assert!(
            witness
                .told
                .contains(&format!("WallTime {{ number: {number} }}"))
        );
        assert_eq!(outcome(&bench, number), Some(LaunchOutcome::Deadline));
    }
    assert!(
        !witness
            .told
            .iter()
            .any(|told| told.starts_with("BudgetSpent"))
    );
}

#[test]
fn a_wall_time_too_short_for_anything_is_an_error_that_says_so() {
    for fate in [
        Fate {
            after_tasks: Some((0, BatchEnd::WallTime)),
            ..Fate::default()
        },
        Fate {
            in_time: Some(0),
            ..Fate::default()
        },
    ] {
        let bench = bench("job: {wall_time: 5m}");
        bench.cluster().always = fate;
        let error =
            measure_campaign(&bench.workplace(), &mut Silent, &never()).expect_err("too short");
        assert!(matches!(error, TunerError::ShortWallTime { .. }), "{error}");
        assert!(error.to_string().contains("wall time of 5m "), "{error}");
        assert_eq!(bench.cluster().asked.len(), 2);
    }
}

#[test]
fn each_number_of_nodes_has_separate_jobs_on_request() {
    let mut bench = bench("allocation: separate");
    bench.redirect("[1x2, 1x4]", "[1x2, 2x2]");
    complete(measure_campaign(&bench.workplace(), &mut Silent, &never()).expect("measured"));
    assert_complete(&bench);
    let cluster = bench.cluster();
    for (launch, job) in &cluster.asked {
        let plan: wire::Plan =
            serde_json::from_slice(&std::fs::read(&job.plan).expect("a plan")).expect("a plan");
        let nodes: BTreeSet<u32> = plan
            .tasks
            .iter()
            .map(|task| match &task.work {
                PlannedWork::Compare { cell, .. } => cell.shape.nodes,
                PlannedWork::Experiment(experiment) => experiment.shape.nodes,
            })
            .collect();
        assert_eq!(nodes.len(), 1, "launch {launch}");
        assert_eq!(
            nodes.first(),
            Some(&(job.ranks / job.ppn)),
            "launch {launch}"
        );
    }
    assert_eq!(cluster.asked.len(), 14);
    // The networks that were measured are those of launches on several nodes.
    let analysis = CampaignAnalysis::from_store(&store(&bench), None, None).expect("analysed");
    assert_eq!(analysis.provenance().networks, ["A network"]);
}

#[test]
fn launches_are_spread_over_the_requested_time() {
    let bench = bench("spread: 3 days");
    bench.cluster().fates.insert(
        4,
        Fate {
            in_time: Some(5),
            ..Fate::default()
        },
    );
    complete(measure_campaign(&bench.workplace(), &mut Silent, &never()).expect("measured"));
    let cluster = bench.cluster();
    let begins: Vec<u64> = cluster
        .asked
        .values()
        .map(|job| {
            job.begin_in
                .expect("nodes of its own")
                .as_secs_f64()
                .round() as u64
        })
        .collect();
    // The launches of the experiments, the first one with cells, and the rest of the third one start at once.
    let fifth = 3 * 24 * 3600 / 5;
    let expected = [0, 0, fifth, fifth, 0, fifth, fifth, fifth];
    let near = |(begin, wanted): (&u64, &u64)| begin.abs_diff(*wanted) <= 5;
    assert!(
        begins.len() == expected.len() && begins.iter().zip(&expected).all(near),
        "{begins:?}"
    );
    assert!(cluster.asked.values().all(|job| !job.keep));
}

#[test]
fn measuring_a_few_cells_starts_at_once_and_ends_with_the_command() {
    let bench = bench("spread: 3 days");
    let cell = bench.campaign().cells().remove(0);
    let cells = [(cell, vec![Candidate::Default])];
    let stop = AtomicBool::new(true);
    let error =
        measure_cells(&bench.workplace(), &cells, 2, &mut Silent, &stop).expect_err("interrupted");
    assert!(matches!(error, TunerError::Interrupted), "{error}");
    assert_eq!(bench.cluster().killed, [1]);
    measure_cells(&bench.workplace(), &cells, 2, &mut Silent, &never()).expect("measured");
    let counts = store(&bench)
        .launch_counts(&library(), Pattern::Together)
        .expect("counts");
    assert_eq!(counts[&(Subject::Cell(cell), Candidate::Default)], 2);
    let cluster = bench.cluster();
    assert_eq!(cluster.closed, 0, "there may be another question");
    let is_plain = |job: &launcher::Job| job.keep && job.begin_in.is_none();
    assert!(cluster.asked.values().all(is_plain));
}

#[test]
fn only_one_host_follows_a_campaign() {
    let bench = bench("");
    let store = bench.campaign().output.store;
    let mut folder = store.into_os_string();
    folder.push(".launches");
    let folder = std::path::PathBuf::from(folder);
    std::fs::create_dir_all(&folder).expect("created");
    // The lock looks like that of another login node, whose `flock` has no effect here.
    let line = "77 login2 1795000000000000000\n";
    std::fs::write(folder.join("lease"), line).expect("written");
    let refused = measure_campaign(&bench.workplace(), &mut Silent, &never()).expect_err("held");
    let TunerError::Store(StoreError::Locked { .. }) = &refused else {
        panic!("{refused}");
    };
    let told = refused.to_string();
    assert!(
        told.contains("process 77 on login2, since 2026-11-18"),
        "{told}"
    );
    assert!(bench.cluster().asked.is_empty());
}

#[test]
fn waiting_costs_no_budget() {
    let bench = bench("");
    submit_next_launch(&bench.workplace(), &mut Silent, &never()).expect("submitted");
    std::thread::sleep(Duration::from_millis(1100));
    bench.cluster().pass_time();
    submit_next_launch(&bench.workplace(), &mut Silent, &never()).expect("submitted");
    let store = store(&bench);
    let tasks: u32 = store
        .launch_counts(&library(), Pattern::Together)
        .expect("counts")
        .values()
        .sum();
    let spent = store.spent_seconds(&library(), None).expect("spent");
    assert!((spent - 0.01 * f64::from(tasks)).abs() < 1e-9, "{spent}");
}

#[test]
fn another_login_node_makes_its_store_from_the_launches() {
    let mut bench = bench("");
    bench.relocated = Some(bench.path("login1/bench.db"));
    let fate = Fate {
        after_tasks: Some((4, BatchEnd::NodeFailed)),
        ..Fate::default()
    };
    bench.cluster().fates.insert(3, fate);
    let error = interrupted(&bench, 90);
    assert!(matches!(error, TunerError::Left { .. }), "{error}");
    bench.relocated = Some(bench.path("login2/bench.db"));
    complete(measure_campaign(&bench.workplace(), &mut Silent, &never()).expect("measured"));
    let launches = bench.cluster().asked.len();
    assert_eq!(launches, 8);

    bench.relocated = Some(bench.path("login1/bench.db"));
    let again = tune_campaign(&bench.workplace(), &mut Silent, &never()).expect("tuned");
    assert_eq!(
        bench.cluster().asked.len(),
        launches,
        "nothing is measured again"
    );
    complete(again.measured);
    // All give the same results, under the name that all nodes know.
    let named = bench.campaign().output.store;
    assert_eq!(again.table.provenance.store, named.display().to_string());
    assert!(!named.exists());
    let samples = |name: &str| {
        let store = Store::open(&bench.path(name)).expect("a store");
        store
            .samples(&library(), Pattern::Together)
            .expect("samples")
    };
    assert_eq!(samples("login1/bench.db"), samples("login2/bench.db"));
}

/// Rewrites the files of launches as if a version with other digests had written them.
fn known_as(bench: &Bench, digest: &str) {
    let mut folder = bench.campaign().output.store.into_os_string();
    folder.push(".launches");
    let own = bench.campaign().digest();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("text");
        std::fs::write(&path, text.replace(&own, digest)).expect("written");
        let name = path.file_name().expect("a name").to_string_lossy();
        std::fs::rename(&path, path.with_file_name(name.replace(&own, digest))).expect("renamed");
    }
}

#[test]
fn launches_of_an_older_version_are_continued_from_their_files() {
    let mut bench = bench("");
    bench.relocated = Some(bench.path("login1/bench.db"));
    let error = interrupted(&bench, 90);
    assert!(matches!(error, TunerError::Left { .. }), "{error}");
    bench.cluster().pass_time();
    let older = "5".repeat(64);
    known_as(&bench, &older);
    bench.relocated = Some(bench.path("login2/bench.db"));
    let tuned = tune_campaign(&bench.workplace(), &mut Silent, &never()).expect("tuned");
    complete(tuned.measured);
    assert_eq!(bench.cluster().asked.len(), 7, "no launch was made twice");
    // Other login nodes use that name.
    assert_eq!(tuned.table.provenance.campaign, older);
    let store = Store::open(&bench.path("login2/bench.db")).expect("a store");
    let rows = store.campaigns().expect("campaigns");
    let digests: Vec<_> = rows.into_iter().map(|row| row.digest).collect();
    assert_eq!(digests, [older]);
}

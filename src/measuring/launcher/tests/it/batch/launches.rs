//! Launches in jobs: several in one job, and none is lost between two jobs.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use launcher::{BATCH_SYSTEMS, BatchSystem};
use launcher::{BatchEnd, JobState, LaunchError, Launcher, Outcome};

use super::cluster::{Cluster, finish, follow, start};
use testkit::fakes::wait_for;

#[test]
fn a_launch_is_a_job() {
    for system in BATCH_SYSTEMS.map(BatchSystem::name) {
        let cluster = Cluster::new(system);
        let launcher = cluster.launcher();
        let job = cluster.job(
            1,
            "echo \"$COLLTUNE_TEST; $COLLTUNE_LAUNCHER\"; echo $COLLTUNE_UNTIL",
        );
        let mut running = start(&launcher, &job);
        let id = running.id().expect("an id").to_owned();
        let recorded = cluster.submission(1);
        assert_eq!((recorded.id.as_str(), recorded.nodes), (id.as_str(), 2));
        assert_eq!(recorded.system, system);
        assert!(recorded.name.contains("0001"), "{recorded:?}");
        let exit = finish(running.as_mut());
        assert_eq!(exit.outcome, Outcome::Success, "{exit:?}");
        assert_eq!(running.last_known_state(), JobState::Ended);
        let said = format!(
            "it's from the job; {} -np 4",
            cluster.fakes.path("mpirun").display()
        );
        assert!(exit.tail[0].starts_with(&said), "{exit:?}");
        assert!(exit.tail[0].contains("--map-by ppr:2:node"), "{exit:?}");
        let until: u64 = exit.tail[1].parse().expect("seconds");
        let left = until.saturating_sub(recorded.submitted);
        // An hour less a twentieth of it.
        assert!((3415..=3430).contains(&left), "{left}");
        launcher.close().expect("closed");
        wait_for("the end of the job", || {
            cluster.allocation("0001", "closed").exists().then_some(())
        });
    }
}

#[test]
fn one_job_serves_several_launches() {
    let cluster = Cluster::slurm();
    let launcher = cluster.launcher();
    for number in 1..=3 {
        let job = cluster.job(number, &format!("echo {number}; exit {}", number - 1));
        let exit = finish(start(&launcher, &job).as_mut());
        let expected = match number {
            1 => Outcome::Success,
            code => Outcome::Code(code.cast_signed() - 1),
        };
        assert_eq!(exit.outcome, expected, "{exit:?}");
        assert_eq!(exit.tail, [number.to_string()]);
        assert_eq!(cluster.submission(number).id, "1");
    }
    assert_eq!(cluster.submitted(), 1);
    // Launches with other needs get other jobs.
    let mut other = cluster.job(4, "echo other");
    other.environment.clear();
    let exit = finish(start(&launcher, &other).as_mut());
    assert_eq!(exit.outcome, Outcome::Success, "{exit:?}");
    let alone = launcher::Job {
        begin_in: Some(Duration::from_secs(3600)),
        ..cluster.job(5, "true")
    };
    finish(start(&launcher, &alone).as_mut());
    assert_eq!(cluster.submitted(), 3);
    let calls = cluster.calls("sbatch");
    assert!(
        calls[calls.len() - 1].contains("--begin=now+3600"),
        "{calls:?}"
    );
    launcher.close().expect("closed");
}

#[test]
fn the_reason_for_waiting_is_reported() {
    for (system, reason) in [
        ("slurm", "Priority"),
        ("pbs", "Not Running: Not enough free nodes available"),
    ] {
        let cluster = Cluster::new(system);
        cluster.mark("full", "");
        let launcher = cluster.launcher();
        let mut running = start(&launcher, &cluster.job(1, "true"));
        follow(running.as_mut(), "the reason", |standing| {
            *standing
                == JobState::Queued {
                    id: cluster.submission(1).id,
                    reason: Some(reason.to_owned()),
                }
        });
        cluster.run("begin", &["1"]);
        let exit = finish(running.as_mut());
        assert_eq!(exit.outcome, Outcome::Success, "{exit:?}");
    }
}

#[test]
fn the_nodes_of_a_running_job_are_reported() {
    let cluster = Cluster::slurm();
    let launcher = cluster.launcher();
    let script = "until [ -e \"$dir/go\" ]; do sleep 0.05; done";
    let mut running = start(&launcher, &cluster.job(1, script));
    follow(running.as_mut(), "nodes", |standing| {
        *standing
            == JobState::Running {
                nodes: vec!["n1".into(), "n2".into()],
            }
    });
    cluster.mark("go", "");
    assert_eq!(finish(running.as_mut()).outcome, Outcome::Success);
}

#[test]
fn a_refusal_quotes_the_scheduler() {
    for (system, words) in [
        (
            "slurm",
            "sbatch: error: invalid partition specified: nonsense",
        ),
        ("pbs", "qsub: Unknown queue"),
    ] {
        let cluster = Cluster::new(system);
        cluster.mark("refusal", &format!("{words}\n"));
        let launcher = cluster.launcher();
        let Err(error) = launcher.start(&cluster.job(1, "true")) else {
            panic!("started");
        };
        assert!(error.to_string().contains(words), "{error}");
        assert!(matches!(error, LaunchError::Refused { .. }), "{error:?}");
        assert!(error.help().is_some_and(|help| help.contains("--render")));
        let left = fs::read_dir(cluster.launches()).expect("a folder").count();
        assert_eq!(left, 1, "more than the plan is left");
    }
}

#[test]
fn nodes_that_are_down_for_now_are_waited_for() {
    let cluster = Cluster::slurm();
    let down = "case \"$*\" in *--test-only*) \
                echo 'allocation failure: Requested node configuration is not available' >&2; exit 1;; esac\n";
    let sbatch = fs::read_to_string(cluster.fakes.path("sbatch")).expect("a script");
    let (head, body) = sbatch.split_once('\n').expect("lines");
    let body = format!("{down}{body}");
    assert_eq!(head, "#!/bin/sh");
    cluster.fakes.write_script("sbatch", &body);
    let exit = finish(start(&cluster.launcher(), &cluster.job(1, "true")).as_mut());
    assert_eq!(exit.outcome, Outcome::Success, "{exit:?}");
}

#[test]
fn a_missing_command_is_named() {
    let cluster = Cluster::slurm();
    fs::remove_file(cluster.fakes.path("sbatch")).expect("removed");
    let launcher = cluster.launcher();
    let error = launcher
        .start(&cluster.job(1, "true"))
        .err()
        .expect("refused");
    // The machine of the test may have a real Slurm, which then refuses.
    match &error {
        LaunchError::NoCommand { program, .. } | LaunchError::Refused { program, .. } => {
            assert_eq!(*program, "sbatch");
        }
        other => panic!("{other}"),
    }
}

/// Queries without an answer are repeated, and nothing is submitted twice.
#[test]
fn a_scheduler_may_be_unreachable_for_a_moment() {
    for system in BATCH_SYSTEMS.map(BatchSystem::name) {
        let cluster = Cluster::new(system);
        let launcher = cluster.launcher();
        cluster.mark("away", "");
        let job = cluster.job(1, "sleep 3");
        std::thread::scope(|scope| {
            let started = scope.spawn(|| {
                let running = launcher.start(&job);
                running.map(|mut running| finish(running.as_mut()))
            });
            std::thread::sleep(Duration::from_millis(500));
            cluster.unmark("away");
            wait_for("a submission", || (cluster.submitted() > 0).then_some(()));
            cluster.mark("away", "");
            std::thread::sleep(Duration::from_millis(2500));
            cluster.unmark("away");
            let exit = started.join().expect("no panic").expect("started");
            assert_eq!(exit.outcome, Outcome::Success, "{exit:?}");
        });
        assert_eq!(cluster.submitted(), 1);
    }
}

/// The job closes while an order is being written: the order is withdrawn and given to another job.
#[test]
fn an_order_that_comes_too_late_is_given_to_another_job() {
    let cluster = Cluster::slurm();
    let launcher = cluster.launcher();
    assert_eq!(
        finish(start(&launcher, &cluster.job(1, "true")).as_mut()).outcome,
        Outcome::Success
    );
    // The job has written that it is closed, after its last look for orders.
    let id = cluster.submission(1).id;
    cluster.run("end", &[&id, "RUNNING", "KILL"]);
    fs::write(cluster.allocation("0001", "closed"), "0\n").expect("written");
    let mut running = start(&launcher, &cluster.job(2, "true"));
    assert_eq!(finish(running.as_mut()).outcome, Outcome::Success);
    assert_eq!(cluster.submission(2).id, "2");
    assert!(!cluster.allocation("0001", "0002.order").exists());

    // The same, noticed only after the order was written.
    let next_id = cluster.submission(2).id;
    cluster.run("end", &[&next_id, "RUNNING", "KILL"]);
    let mut next_running = start(&launcher, &cluster.job(3, "true"));
    assert_eq!(cluster.submission(3).id, "2");
    fs::write(cluster.allocation("0002", "closed"), "0\n").expect("written");
    let exit = finish(next_running.as_mut());
    assert_eq!(exit.outcome, Outcome::Ended(BatchEnd::NotBegun), "{exit:?}");
    assert!(!cluster.allocation("0002", "0003.order").exists());
    launcher.close().expect("closed");
}

#[test]
fn a_job_without_time_gets_no_launch() {
    let cluster = Cluster::slurm();
    let launcher = cluster.launcher();
    finish(start(&launcher, &cluster.job(1, "true")).as_mut());
    fs::write(cluster.allocation("0001", "open"), "1000\nn1\n").expect("written");
    finish(start(&launcher, &cluster.job(2, "true")).as_mut());
    assert_eq!(cluster.submission(2).id, "2");
    wait_for("the end of the first", || {
        cluster.allocation("0001", "closed").exists().then_some(())
    });
    launcher.close().expect("closed");
}

#[test]
fn a_job_without_orders_ends() {
    let cluster = Cluster::slurm();
    let launcher = cluster.launcher();
    let job = launcher::Job {
        keep: false,
        ..cluster.job(1, "true")
    };
    finish(start(&launcher, &job).as_mut());
    wait_for("the end of the job", || {
        cluster.allocation("0001", "closed").exists().then_some(())
    });
    let output = fs::read_to_string(cluster.allocation("0001", "output")).expect("an output");
    assert!(output.contains("nothing to do for 5 s"), "{output}");
}

/// The scheduler's command either fails at once or hangs.
#[test]
fn a_submission_that_takes_long_can_be_interrupted() {
    for system in BATCH_SYSTEMS.map(BatchSystem::name) {
        for hangs in [false, true] {
            let cluster = Cluster::new(system);
            cluster.mark("away", "");
            if hangs {
                for command in ["sbatch", "qsub"] {
                    cluster.fakes.write_script(command, "sleep 50");
                }
            }
            let (launcher, job) = (cluster.launcher(), cluster.job(1, "true"));
            let stop = AtomicBool::new(false);
            let error = std::thread::scope(|scope| {
                let started = scope.spawn(|| launcher.start_unless(&job, &stop).err());
                std::thread::sleep(Duration::from_millis(500));
                assert!(!started.is_finished(), "it is not waited for");
                stop.store(true, Ordering::Relaxed);
                let asked = Instant::now();
                let error = started.join().expect("no panic");
                assert!(
                    asked.elapsed() < Duration::from_secs(20),
                    "{system} {hangs}"
                );
                error
            });
            assert!(matches!(error, Some(LaunchError::Interrupted)), "{error:?}");
            let left = fs::read_dir(cluster.launches()).expect("a folder").count();
            assert_eq!(left, 1, "more than the plan is left");
        }
    }
}

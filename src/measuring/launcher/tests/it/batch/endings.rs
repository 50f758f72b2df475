//! The reported causes of the ends of jobs.

use std::fs;
use std::time::Duration;

use launcher::{BATCH_SYSTEMS, BatchSystem};
use launcher::{BatchEnd, Exit, Job, JobState, Launcher, Outcome};

use super::cluster::{Cluster, finish, follow, start};
use testkit::fakes::{process_exists, wait_for};

/// A driver that writes its process id and continues for a long time.
const LASTING: &str = "echo begun; echo $$ >\"$dir/pid\"; sleep 40";

/// The end of a launch after its job has ended in this way.
fn ended(system: &str, state: &str, signals: &[&str]) -> Exit {
    let cluster = Cluster::new(system);
    let launcher = cluster.launcher();
    let mut running = start(&launcher, &cluster.job(1, LASTING));
    cluster.fakes.wait_for_number("pid");
    let arguments = [&["1", state], signals].concat();
    cluster.run("end", &arguments);
    finish(running.as_mut())
}

#[test]
fn the_batch_systems_reason_for_ending_a_job_is_reported() {
    use BatchEnd::{Cancelled, NodeFailed, OutOfMemory, Preempted, WallTime};
    std::thread::scope(|scope| {
        for (system, state, signals, end) in [
            ("slurm", "TIMEOUT", &["TERM", "KILL"][..], WallTime),
            ("slurm", "CANCELLED", &["TERM", "KILL"], Cancelled),
            ("slurm", "PREEMPTED", &["TERM"], Preempted),
            ("slurm", "NODE_FAIL", &["KILL"], NodeFailed),
            ("slurm", "OUT_OF_MEMORY", &["KILL"], OutOfMemory),
            ("pbs", "TIMEOUT", &["TERM", "KILL"], WallTime),
            ("pbs", "CANCELLED", &["TERM"], Cancelled),
            ("pbs", "NODE_FAIL", &["KILL"], NodeFailed),
            ("pbs", "OUT_OF_MEMORY", &["KILL"], OutOfMemory),
        ] {
            scope.spawn(move || {
                let exit = ended(system, state, signals);
                assert_eq!(
                    exit.outcome,
                    Outcome::Ended(end),
                    "{system} {state} {exit:?}"
                );
                assert_eq!(exit.tail, ["begun"], "{system} {state}");
                let nodes: &[&str] = match (system, state) {
                    ("slurm", "NODE_FAIL") => &["n2"],
                    _ => &[],
                };
                assert_eq!(exit.failed_nodes, nodes, "{system} {state}");
            });
        }
    });
}

#[test]
fn a_job_that_the_batch_system_forgets_is_lost() {
    let cluster = Cluster::slurm();
    let launcher = cluster.launcher();
    let mut running = start(&launcher, &cluster.job(1, LASTING));
    cluster.fakes.wait_for_number("pid");
    cluster.run("end", &["1", "CANCELLED", "KILL"]);
    cluster.forget("1");
    let exit = finish(running.as_mut());
    assert_eq!(exit.outcome, Outcome::Ended(BatchEnd::Lost), "{exit:?}");
}

/// Another job that was given the same id is another job, and whether this one still waits is in doubt.
#[test]
fn a_job_is_not_recognised_by_its_id_alone() {
    let cluster = Cluster::slurm();
    cluster.mark("full", "");
    let launcher = cluster.launcher();
    let mut running = start(&launcher, &cluster.job(1, "true"));
    fs::write(cluster.fakes.path("jobs/1/name"), "another\n").expect("written");
    let exit = finish(running.as_mut());
    assert_eq!(exit.outcome, Outcome::Ended(BatchEnd::Lost), "{exit:?}");
    assert_eq!(cluster.known("1", "state"), "PENDING");
}

#[test]
fn a_job_cancelled_in_the_queue_is_reported_as_cancelled() {
    let cluster = Cluster::slurm();
    cluster.mark("full", "");
    let launcher = cluster.launcher();
    let mut running = start(&launcher, &cluster.job(1, "true"));
    cluster.run("scancel", &["1"]);
    let exit = finish(running.as_mut());
    assert_eq!(
        exit.outcome,
        Outcome::Ended(BatchEnd::Cancelled),
        "{exit:?}"
    );
    assert!(!cluster.allocation("0001", "0001.order").exists());
}

/// The script's output shows failures before the launch.
#[test]
fn a_script_that_fails_shows_why() {
    let mut cluster = Cluster::slurm();
    cluster.options.job.modules = vec!["gcc/12".into()];
    let launcher = cluster.launcher();
    let exit = finish(start(&launcher, &cluster.job(1, "true")).as_mut());
    // 127 without a command `module`, and 1 with Lmod.
    assert!(matches!(exit.outcome, Outcome::Code(1 | 127)), "{exit:?}");
    assert!(
        exit.tail.iter().any(|line| line.contains("module")),
        "{exit:?}"
    );
    assert_eq!(exit.log, cluster.allocation("0001", "output"));

    let plain_cluster = Cluster::slurm();
    let job = Job {
        driver: plain_cluster.fakes.path("gone"),
        ..plain_cluster.job(1, "true")
    };
    let driverless_exit = finish(start(&plain_cluster.launcher(), &job).as_mut());
    assert_eq!(
        driverless_exit.outcome,
        Outcome::Code(66),
        "{driverless_exit:?}"
    );
    let told = driverless_exit
        .tail
        .last()
        .is_some_and(|line| line.contains("gone is not on this node"));
    assert!(told, "{driverless_exit:?}");
}

#[test]
fn a_launch_has_a_time_limit() {
    let cluster = Cluster::slurm();
    let launcher = cluster.launcher();
    let job = Job {
        timeout: Some(Duration::from_secs(1)),
        ..cluster.job(1, LASTING)
    };
    let exit = finish(start(&launcher, &job).as_mut());
    assert_eq!(exit.outcome, Outcome::TimedOut, "{exit:?}");
    let pid = cluster.fakes.wait_for_number("pid");
    wait_for("its end", || (!process_exists(pid)).then_some(()));
    // Its job continues.
    let next_exit = finish(start(&launcher, &cluster.job(2, "true")).as_mut());
    assert_eq!(next_exit.outcome, Outcome::Success, "{next_exit:?}");
    assert_eq!(cluster.submission(2).id, "1");
    launcher.close().expect("closed");
}

#[test]
fn killing_cancels_the_job() {
    for system in BATCH_SYSTEMS.map(BatchSystem::name) {
        let cluster = Cluster::new(system);
        let launcher = cluster.launcher();
        let mut running = start(&launcher, &cluster.job(1, LASTING));
        let pid = cluster.fakes.wait_for_number("pid");
        running.kill().expect("killed");
        wait_for("its end", || (!process_exists(pid)).then_some(()));
        assert_eq!(finish(running.as_mut()).outcome, Outcome::Killed);
        let calls = [cluster.calls("scancel"), cluster.calls("qdel")].concat();
        assert_eq!(calls, ["1"]);
        // The batch system is not queried again.
        running.kill().expect("killed");
        assert_eq!(
            [cluster.calls("scancel"), cluster.calls("qdel")].concat(),
            ["1"]
        );
    }
}

#[test]
fn a_job_continues_when_the_command_ends() {
    let cluster = Cluster::slurm();
    let launcher = cluster.launcher();
    let mut running = start(&launcher, &cluster.job(1, LASTING));
    let pid = cluster.fakes.wait_for_number("pid");
    follow(running.as_mut(), "running", |standing| {
        matches!(standing, JobState::Running { .. })
    });
    drop(running);
    drop(launcher);
    std::thread::sleep(Duration::from_millis(300));
    assert!(process_exists(pid));
    assert!(cluster.calls("scancel").is_empty());
    cluster.run("scancel", &["1"]);
}

/// A restarted job reports the launch that it had begun as ended, and continues with the others.
#[test]
fn a_job_may_be_restarted() {
    let cluster = Cluster::slurm();
    let launcher = cluster.launcher();
    let mut first = start(&launcher, &cluster.job(1, LASTING));
    cluster.fakes.wait_for_number("pid");
    let mut second = start(&launcher, &cluster.job(2, "echo second"));
    cluster.run("end", &["1", "PENDING", "TERM", "KILL"]);
    follow(first.as_mut(), "waiting again", |standing| {
        matches!(standing, JobState::Queued { .. })
    });
    cluster.run("begin", &["1"]);
    let exit = finish(first.as_mut());
    assert_eq!(exit.outcome, Outcome::Code(129), "{exit:?}");
    let second_exit = finish(second.as_mut());
    assert_eq!(second_exit.outcome, Outcome::Success, "{second_exit:?}");
    assert_eq!(second_exit.tail, ["second"]);
    assert_eq!(cluster.submitted(), 1);
    launcher.close().expect("closed");
}

//! Answers to submissions: whatever a site's command prints, a script is submitted once, and its job is found or cancelled.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use launcher::{BATCH_SYSTEMS, BatchSystem};
use launcher::{BatchEnd, LaunchError, Launcher, Outcome};
use vocabulary::ErrorKind;

use super::cluster::{Cluster, finish, start};

/// A time within which jobs that are hidden do not become known.
const SOON: Duration = Duration::from_secs(1);

/// The error of a launch that does not start; nothing of its job is left.
fn refusal(cluster: &Cluster) -> LaunchError {
    let launcher = cluster.launcher().knowing_within(SOON);
    let error = launcher.start(&cluster.job(1, "true")).err();
    let left = fs::read_dir(cluster.launches()).expect("a folder").count();
    assert_eq!(left, 1, "more than the plan is left");
    error.expect("refused")
}

#[test]
fn a_job_is_found_whatever_its_submission_prints() {
    // `ID` stands for the id.
    let replies = [
        "---- Welcome to the cluster ----\n\n--> Checking available allocation (PROJ)...OK\nID\n",
        "ID;nautilus\n",
        "Submitted batch job ID\n",
        "Submitted batch job ID on cluster nautilus\n",
        "ID\nEstimated cost of this job: 12 node-hours\n",
        "ID\r\n",
        "ID\n\n",
        "your job ID has been submitted\n",
        "",
        // A number that is no job's.
        "ID\n2019\n",
    ];
    for system in BATCH_SYSTEMS.map(BatchSystem::name) {
        thread::scope(|scope| {
            for reply in replies {
                scope.spawn(move || {
                    let cluster = Cluster::new(system);
                    cluster.mark("reply", reply);
                    let launcher = cluster.launcher();
                    let mut running = start(&launcher, &cluster.job(1, "true"));
                    let id = running.id().map(str::to_owned);
                    let expected = if system == "pbs" { "1.pbs" } else { "1" };
                    assert_eq!(id.as_deref(), Some(expected), "{system} {reply:?}");
                    let exit = finish(running.as_mut());
                    assert_eq!(exit.outcome, Outcome::Success, "{system} {reply:?}");
                    assert_eq!(cluster.submitted(), 1, "{system} {reply:?}");
                    launcher.close().expect("closed");
                });
            }
        });
    }
}

/// Sites cache what users ask, and commands may be cut off after the script was accepted.
#[test]
fn a_job_that_becomes_known_late_is_waited_for() {
    thread::scope(|scope| {
        for (system, file, text) in [
            ("slurm", "reply", ""),
            ("slurm", "reply", "ID\n"),
            (
                "slurm",
                "error",
                "sbatch: error: Batch job submission failed: Socket timed out\n",
            ),
            ("pbs", "reply", "your job is ID\n"),
            ("pbs", "error", "qsub: Communication failure.\n"),
        ] {
            scope.spawn(move || {
                let cluster = Cluster::new(system);
                cluster.mark("hidden", "");
                cluster.mark(file, text);
                let (launcher, job) = (cluster.launcher(), cluster.job(1, "true"));
                thread::scope(|launch_scope| {
                    let started =
                        launch_scope.spawn(|| start(&launcher, &job).id().map(str::to_owned));
                    thread::sleep(Duration::from_millis(2500));
                    assert!(
                        !started.is_finished(),
                        "{system} {text:?}: nothing is known yet"
                    );
                    cluster.unmark("hidden");
                    let id = started.join().expect("no panic");
                    assert!(
                        id.is_some_and(|id| id.starts_with('1')),
                        "{system} {text:?}"
                    );
                });
                assert_eq!(cluster.submitted(), 1, "{system} {text:?}");
                launcher.close().expect("closed");
            });
        }
    });
}

#[test]
fn a_job_that_does_not_become_known_is_cancelled_and_not_submitted_again() {
    thread::scope(|scope| {
        for system in BATCH_SYSTEMS.map(BatchSystem::name) {
            for reply in ["", "ID\n", "your job is ID, on another cluster\n"] {
                scope.spawn(move || {
                    let cluster = Cluster::new(system);
                    for file in ["hidden", "full"] {
                        cluster.mark(file, "");
                    }
                    cluster.mark("reply", reply);
                    let error = refusal(&cluster);
                    let LaunchError::Unknown {
                        name,
                        problem: None,
                        ..
                    } = &error
                    else {
                        panic!("{error:?}");
                    };
                    assert_eq!(*name, cluster.known("1", "name"), "{error}");
                    assert_eq!(error.kind(), ErrorKind::Environment);
                    let printed = reply.replace("ID", if system == "pbs" { "1.pbs" } else { "1" });
                    let told = match printed.trim() {
                        "" => "answered nothing".to_owned(),
                        text => format!("answered `{text}`"),
                    };
                    assert!(error.to_string().contains(&told), "{error}");
                    assert!(error.help().is_some_and(|help| help.contains(&**name)));
                    assert_eq!(cluster.submitted(), 1, "{system} {reply:?}");
                    assert_eq!(
                        cluster.known("1", "state"),
                        "CANCELLED",
                        "{system} {reply:?}"
                    );
                });
            }
        }
    });
}

/// A printed id may be another job's, and is not cancelled unseen.
#[test]
fn jobs_are_cancelled_by_name_alone() {
    let cluster = Cluster::slurm();
    for file in ["hidden", "full"] {
        cluster.mark(file, "");
    }
    cluster.mark("reply", "2019\n");
    let error = refusal(&cluster).to_string();
    let name = cluster.known("1", "name");
    assert_eq!(
        cluster.calls("scancel"),
        [format!("--name={name}")],
        "{error}"
    );

    cluster
        .fakes
        .write_script("scancel", "echo scancel: error: not you >&2; exit 1");
    let denied = refusal(&cluster).to_string();
    assert!(denied.contains("could not be cancelled"), "{denied}");
    assert!(denied.contains("not you"), "{denied}");
}

#[test]
fn an_interrupt_cancels_a_job_that_is_looked_for() {
    for system in BATCH_SYSTEMS.map(BatchSystem::name) {
        let cluster = Cluster::new(system);
        for file in ["hidden", "full", "reply"] {
            cluster.mark(file, "");
        }
        let (launcher, job) = (cluster.launcher(), cluster.job(1, "true"));
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let started = scope.spawn(|| launcher.start_unless(&job, &stop).err());
            thread::sleep(Duration::from_millis(1000));
            assert!(!started.is_finished(), "it is not looked for");
            stop.store(true, Ordering::Relaxed);
            let error = started.join().expect("no panic");
            assert!(matches!(error, Some(LaunchError::Interrupted)), "{error:?}");
        });
        assert_eq!(cluster.known("1", "state"), "CANCELLED", "{system}");
        assert_eq!(cluster.submitted(), 1, "{system}");
    }
}

#[test]
fn a_waiting_job_that_is_forgotten_is_cancelled() {
    let cluster = Cluster::slurm();
    cluster.mark("full", "");
    let launcher = cluster.launcher();
    let mut running = start(&launcher, &cluster.job(1, "true"));
    cluster.mark("hidden", "");
    let exit = finish(running.as_mut());
    assert_eq!(exit.outcome, Outcome::Ended(BatchEnd::Lost), "{exit:?}");
    assert_eq!(cluster.known("1", "state"), "CANCELLED");
}

/// A site's own `squeue` may know names only.
#[test]
fn a_job_that_is_known_by_its_name_alone_is_followed() {
    let cluster = Cluster::slurm();
    let squeue = fs::read_to_string(cluster.fakes.path("squeue")).expect("a script");
    let body = squeue.split_once('\n').expect("lines").1;
    let only = "case \"$*\" in *--name=*) ;; *) exit 0;; esac\n";
    cluster
        .fakes
        .write_script("squeue", &format!("{only}{body}"));
    cluster
        .fakes
        .write_script("scontrol", "[ \"$2\" != hostnames ] || echo n1");
    cluster.mark("full", "");
    let launcher = cluster.launcher();
    let mut running = start(&launcher, &cluster.job(1, "true"));
    let early = running.wait_timeout(Duration::from_secs(5));
    assert_eq!(early.expect("watched"), None, "it still waits");
    cluster.run("begin", &["1"]);
    assert_eq!(finish(running.as_mut()).outcome, Outcome::Success);
    assert_eq!(cluster.submitted(), 1);
    launcher.close().expect("closed");
}

/// A command was killed after its submission, and the job is not found.
#[test]
fn a_job_of_a_killed_command_is_cancelled_if_it_is_not_found() {
    let cluster = Cluster::slurm();
    cluster.mark("full", "");
    let job = cluster.job(1, "true");
    drop(start(&cluster.launcher(), &job));
    fs::remove_file(cluster.launches().join("0001.job.json")).expect("removed");
    cluster.mark("hidden", "");
    let launcher = cluster.launcher().knowing_within(SOON);
    assert!(launcher.resume(&job).expect("asked").is_none());
    assert_eq!(cluster.known("1", "state"), "CANCELLED");
    assert!(!cluster.allocation("0001", "0001.order").exists());
}

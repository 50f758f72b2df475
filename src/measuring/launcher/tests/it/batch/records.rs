//! Later commands find jobs by the files of launches.

use std::fs;

use launcher::{
    BatchEnd, JobState, Launcher, Outcome, RecordedState, cancel_recorded_jobs,
    list_recorded_launches,
};

use super::cluster::{Cluster, finish, start};
use testkit::fakes::wait_for;

const WAITING: &str = "until [ -e \"$dir/go\" ]; do sleep 0.05; done; echo done";

#[test]
fn a_job_is_continued_by_a_later_command() {
    let cluster = Cluster::slurm();
    let job = cluster.job(1, WAITING);
    drop(start(&cluster.launcher(), &job));
    let launcher = cluster.launcher();
    let mut running = launcher.resume(&job).expect("asked").expect("there");
    assert_eq!(running.id(), Some("1"));
    assert_eq!(running.poll().expect("watched"), None);
    cluster.mark("go", "");
    let exit = finish(running.as_mut());
    assert_eq!(exit.outcome, Outcome::Success, "{exit:?}");
    // It serves further launches, too.
    let next_exit = finish(start(&launcher, &cluster.job(2, "true")).as_mut());
    assert_eq!(next_exit.outcome, Outcome::Success, "{next_exit:?}");
    assert_eq!(cluster.submission(2).id, "1");
    launcher.close().expect("closed");

    // Long after its end, the files have its state.
    wait_for("the end of the job", || {
        cluster.allocation("0001", "closed").exists().then_some(())
    });
    cluster.forget("1");
    let mut ended = cluster
        .launcher()
        .resume(&job)
        .expect("asked")
        .expect("there");
    assert_eq!(finish(ended.as_mut()).outcome, Outcome::Success);
    assert_eq!(cluster.submitted(), 1);
}

#[test]
fn a_job_that_was_never_submitted_is_not_found() {
    let cluster = Cluster::slurm();
    let job = cluster.job(1, "true");
    assert!(cluster.launcher().resume(&job).expect("asked").is_none());
    // A command ended after writing the order and before submitting anything.
    let folder = cluster.allocation("0001", "");
    fs::create_dir(&folder).expect("created");
    fs::write(folder.join("0001.order"), "").expect("written");
    assert!(cluster.launcher().resume(&job).expect("asked").is_none());
    assert!(!folder.join("0001.order").exists());
}

/// A command ended after `sbatch` and before writing down its answer.
#[test]
fn a_job_is_found_by_its_name() {
    let cluster = Cluster::slurm();
    let job = cluster.job(1, WAITING);
    drop(start(&cluster.launcher(), &job));
    let before = cluster.submission(1);
    fs::remove_file(cluster.launches().join("0001.job.json")).expect("removed");
    let mut running = cluster
        .launcher()
        .resume(&job)
        .expect("asked")
        .expect("there");
    let after = cluster.submission(1);
    assert_eq!((before.id, before.name), (after.id, after.name));
    cluster.mark("go", "");
    assert_eq!(finish(running.as_mut()).outcome, Outcome::Success);
}

#[test]
fn a_damaged_record_is_named() {
    let cluster = Cluster::slurm();
    let job = cluster.job(1, "true");
    fs::write(cluster.launches().join("0001.job.json"), "{").expect("written");
    let error = cluster.launcher().resume(&job).err().expect("refused");
    assert!(error.to_string().contains("0001.job.json"), "{error}");
    assert!(list_recorded_launches(&cluster.launches(), &cluster.path()).is_err());
}

/// Ids are arguments of `squeue` and `scancel`.
#[test]
fn a_record_with_an_option_in_place_of_an_id_is_refused() {
    let cluster = Cluster::slurm();
    drop(start(&cluster.launcher(), &cluster.job(1, "true")));
    let path = cluster.launches().join("0001.job.json");
    let text = fs::read_to_string(&path).expect("recorded");
    let id = cluster.submission(1).id;
    for option in ["--user=root", "-u root", "7 8", ""] {
        let changed = text.replace(&format!("\"{id}\""), &format!("\"{option}\""));
        assert_ne!(changed, text);
        fs::write(&path, changed).expect("written");
        let error =
            list_recorded_launches(&cluster.launches(), &cluster.path()).expect_err("refused");
        assert!(error.to_string().contains("0001.job.json"), "{error}");
    }
}

#[test]
fn the_jobs_of_a_folder_are_listed() {
    let cluster = Cluster::slurm();
    let list = || list_recorded_launches(&cluster.launches(), &cluster.path()).expect("read");
    assert_eq!(list(), []);
    let nowhere = cluster.fakes.path("nowhere");
    assert_eq!(
        list_recorded_launches(&nowhere, &cluster.path()).expect("read"),
        []
    );
    let launcher = cluster.launcher();
    finish(start(&launcher, &cluster.job(1, "exit 3")).as_mut());
    let mut running = start(&launcher, &cluster.job(2, WAITING));
    wait_for("the launch", || {
        cluster
            .allocation("0001", "0002.begun")
            .exists()
            .then_some(())
    });
    cluster.mark("full", "");
    let alone = launcher::Job {
        keep: false,
        ..cluster.job(3, "true")
    };
    let mut queued = start(&launcher, &alone);
    let states = || -> Vec<_> {
        let jobs = list();
        jobs.into_iter()
            .map(|job| (job.launch, job.submission.id, job.state))
            .collect()
    };
    let nodes = vec!["n1".to_owned(), "n2".to_owned()];
    let running_now = RecordedState::Current(JobState::Running { nodes });
    let waiting = RecordedState::Current(JobState::Queued {
        id: "2".into(),
        reason: Some("Priority".into()),
    });
    let failed = RecordedState::Ended(Outcome::Code(3));
    assert_eq!(
        states(),
        [
            (1, "1".to_owned(), failed.clone()),
            (2, "1".to_owned(), running_now),
            (3, "2".to_owned(), waiting.clone())
        ]
    );
    cluster.mark("away", "");
    let unknown = states();
    assert_eq!(
        (&unknown[0].2, &unknown[1].2),
        (&failed, &RecordedState::Unknown)
    );
    cluster.unmark("away");

    let cancelled = |only: Option<&[String]>| -> Vec<String> {
        let jobs =
            cancel_recorded_jobs(&cluster.launches(), only, &cluster.path()).expect("cancelled");
        jobs.into_iter().map(|job| job.id).collect()
    };
    assert_eq!(cancelled(Some(&["1".to_owned()])), ["1"]);
    let exit = finish(running.as_mut());
    assert_eq!(
        exit.outcome,
        Outcome::Ended(BatchEnd::Cancelled),
        "{exit:?}"
    );
    assert_eq!(states()[2].2, waiting);
    assert_eq!(cancelled(None), ["2"]);
    assert_eq!(cancelled(None), <[String; 0]>::default());
    let queued_exit = finish(queued.as_mut());
    assert_eq!(
        queued_exit.outcome,
        Outcome::Ended(BatchEnd::Cancelled),
        "{queued_exit:?}"
    );
    let ended = RecordedState::Ended(Outcome::Ended(BatchEnd::Cancelled));
    assert_eq!(states()[1].2, ended);
    assert_eq!(states()[2].2, ended);
}

//! The service's queue on a real Slurm.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use service::{
    Actor, Configuration, Overrides, Scope, Service, Task, TaskId, TaskKind, TaskRequest, TaskState,
};

use super::site::{CAMPAIGN, Site};

/// A service that runs until it is stopped.
struct Running {
    service: Arc<Service>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Running {
    fn start(site: &Site) -> Self {
        let folder = fs::canonicalize(site.place.path("")).unwrap();
        let configuration = Configuration::for_folder(&folder).unwrap();
        let service = Service::open(configuration, executable(site)).unwrap();
        service.divide_waiting_times(10);
        let stop = Arc::new(AtomicBool::new(false));
        let (of_thread, until) = (Arc::clone(&service), Arc::clone(&stop));
        Self {
            service,
            stop,
            thread: std::thread::spawn(move || of_thread.run_tasks(&until)),
        }
    }

    fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
    }

    fn tune(&self, name: &str) -> TaskId {
        let request = TaskRequest {
            kind: TaskKind::Tune,
            machine: None,
            campaign: Some(format!("tuning/{name}.yaml")),
            table: None,
            deployment: None,
            overrides: Overrides::default(),
        };
        let submitted = self.service.submit_task(&actor(), &request, None);
        submitted.unwrap().task.id
    }

    #[track_caller]
    fn until(&self, id: TaskId, is_so: impl Fn(&Task) -> bool) -> Task {
        let end = Instant::now() + Duration::from_secs(120);
        loop {
            let task = self.service.read_task(id).unwrap();
            if is_so(&task) {
                return task;
            }
            assert!(Instant::now() < end, "{task:?}");
            sleep(Duration::from_millis(50));
        }
    }
}

/// `colltune` with the variables that it needs to use this Slurm.
fn executable(site: &Site) -> PathBuf {
    let command = site.command(&[]);
    let variables = command.get_envs().map(|(name, value)| {
        let value = value.unwrap_or_default().to_str().unwrap();
        format!("export {}='{value}'\n", name.to_str().unwrap())
    });
    let path = site.place.path("colltune-here");
    let exec = format!("exec '{}' \"$@\"\n", env!("CARGO_BIN_EXE_colltune"));
    let text = format!("#!/bin/sh\n{}{exec}", variables.collect::<String>());
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path
}

fn actor() -> Actor {
    Actor {
        name: "tester".to_owned(),
        scopes: vec![Scope::Submit],
        machines: Vec::new(),
    }
}

#[test]
fn a_service_submits_jobs_that_continue_without_it_and_cancels_them_under_openmpi() {
    let Some(site) = Site::up() else { return };
    site.place.write("tuning/small.yaml", CAMPAIGN);
    let other = CAMPAIGN.replace("name: small", "name: other");
    site.place.write("tuning/other.yaml", &other);
    let running = Running::start(&site);
    let id = running.tune("small");
    running.until(id, |task| task.reason.starts_with("job "));
    running.stop();

    let restarted = Running::start(&site);
    let finished = restarted.until(id, |task| {
        !matches!(task.state, TaskState::Waiting | TaskState::Running)
    });
    assert_eq!(finished.state, TaskState::Done, "{finished:?}");
    assert!(
        finished.made.is_some() && finished.node_seconds > 0.0,
        "{finished:?}"
    );
    let outcome = finished.outcome.unwrap();
    assert_eq!(outcome["done"], outcome["total"], "{outcome}");

    let other_id = restarted.tune("other");
    restarted.until(other_id, |task| task.reason.starts_with("job "));
    restarted.service.cancel_task(&actor(), other_id).unwrap();
    let task = restarted.until(other_id, |task| task.state == TaskState::Cancelled);
    assert!(task.reason.contains("with its jobs"), "{task:?}");
    let jobs = site.jobs();
    let of_other = jobs.iter().filter(|job| job["campaign"] == "other");
    let states: Vec<_> = of_other.map(|job| job["state"].as_str().unwrap()).collect();
    assert!(
        !states.is_empty()
            && states
                .iter()
                .all(|state| !["queued", "running"].contains(state)),
        "{jobs:?}"
    );
    restarted.stop();
}

//! A service with a script as its executable.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use service::{Configuration, Service, Submitted, Task, TaskId, TaskKind, TaskRequest, TaskState};
use testkit::fakes::Fakes;
use testkit::tables;

pub(super) use crate::fixture::admin;

pub(super) const CAMPAIGN: &str = "\
name: small
launcher: simulated
shapes: [2x2, 4x2]
collectives: [bcast]
sizes: 64
budget: 1m
";

/// A folder with campaigns, and a service that may run.
pub(super) struct Bed {
    fakes: Fakes,
    pub(super) configuration: Configuration,
    /// The factor by which the queue's waiting times are shortened.
    pub(super) haste: u32,
    running: Option<Running>,
}

struct Running {
    service: Arc<Service>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Bed {
    /// A service with `tuning/small.yaml`, and children that run `script`.
    pub(super) fn new(script: &str) -> Self {
        let fakes = Fakes::new();
        let folder = fs::canonicalize(fakes.path("")).unwrap();
        let mut configuration = Configuration::for_folder(&folder).unwrap();
        configuration.state = folder.join("state");
        let bed = Self {
            fakes,
            configuration,
            haste: 50,
            running: None,
        };
        bed.write("tuning/small.yaml", CAMPAIGN);
        bed.write(
            "tables/small.yaml",
            &tables::table_yaml("small", "openmpi", "4.1.4", RULES),
        );
        bed.behave(script);
        bed
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.configuration.folder.join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The content of a file; empty if it does not exist.
    pub(super) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Children append their arguments to `calls`, and run the script; `$n` is the number of calls, and `end` prints an
    /// outcome with the table.
    pub(super) fn behave(&self, script: &str) {
        let end =
            r#"{"event":"outcome","outcome":{"table":"tables/small.yaml","done":4,"total":4}}"#;
        let text = format!(
            "echo \"$@\" >> calls; n=$(wc -l < calls)\nend() {{ echo '{end}'; }}\n{script}"
        );
        self.fakes.write_script("colltune", &text);
    }

    /// The arguments of each child.
    pub(super) fn calls(&self) -> Vec<String> {
        self.read("calls").lines().map(str::to_owned).collect()
    }

    pub(super) fn service(&mut self) -> Arc<Service> {
        if let Some(running) = &self.running {
            return Arc::clone(&running.service);
        }
        let executable = self.fakes.path("colltune");
        let service = Service::open(self.configuration.clone(), executable).unwrap();
        service.divide_waiting_times(self.haste);
        let stop = Arc::new(AtomicBool::new(false));
        let (of_thread, until) = (Arc::clone(&service), Arc::clone(&stop));
        self.running = Some(Running {
            service: Arc::clone(&service),
            stop,
            thread: std::thread::spawn(move || of_thread.run_tasks(&until)),
        });
        service
    }

    /// Ends the service; returns the time that this took.
    pub(super) fn stop(&mut self) -> Duration {
        let begun = Instant::now();
        if let Some(running) = self.running.take() {
            running.stop.store(true, Ordering::Relaxed);
            running.thread.join().unwrap();
        }
        begun.elapsed()
    }

    pub(super) fn submit(&mut self, request: &TaskRequest) -> Submitted {
        self.service().submit_task(&admin(), request, None).unwrap()
    }

    /// Tunes a campaign of `tuning`.
    pub(super) fn tune(&mut self, name: &str) -> TaskId {
        self.submit(&tune(name)).task.id
    }

    /// Waits until a condition on a task holds.
    #[track_caller]
    pub(super) fn until(&mut self, id: TaskId, is_so: impl Fn(&Task) -> bool) -> Task {
        let service = self.service();
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            let task = service.read_task(id).unwrap();
            if is_so(&task) {
                return task;
            }
            assert!(Instant::now() < end, "{task:?}\n{}", self.read("calls"));
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[track_caller]
    pub(super) fn ended(&mut self, id: TaskId) -> Task {
        use TaskState::{Cancelled, Done, Failed};
        self.until(id, |task| matches!(task.state, Done | Failed | Cancelled))
    }

    /// Waits until a file exists.
    #[track_caller]
    pub(super) fn until_there(&self, name: &str) {
        wait_for(name, || self.path(name).exists());
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop.store(true, Ordering::Relaxed);
            let _ = running.thread.join();
        }
    }
}

#[track_caller]
pub(super) fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < end, "{what} does not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub(super) fn tune(name: &str) -> TaskRequest {
    TaskRequest {
        kind: TaskKind::Tune,
        machine: None,
        campaign: Some(format!("tuning/{name}.yaml")),
        table: None,
        deployment: None,
        overrides: service::Overrides::default(),
    }
}

/// Whether a process exists and is no zombie.
pub(super) fn is_alive(pid: i32) -> bool {
    let stat = Path::new("/proc").join(pid.to_string()).join("stat");
    fs::read_to_string(stat).is_ok_and(|text| !text.contains(") Z "))
}

const RULES: &str = "
  allreduce:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 2
        ppn: 1
        operators: any
        rules:
          - {from: 0, candidate: allreduce/recursive_doubling, speedup: 1.5, confidence: high, confirmed: true}
";

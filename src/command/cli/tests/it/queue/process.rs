//! A process that runs a service, for a test to kill: this test program, started again.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use service::{
    Actor, Configuration, Digest, Overrides, Scope, Service, Slice, TaskFilter, TaskKind,
    TaskRequest, TaskState,
};

use crate::run::Place;

/// Names the project folder of the service.
const FOLDER: &str = "COLLTUNE_TEST_SERVICE";

/// Starts the process.
pub(super) fn start(place: &Place) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "queue::process::serves_another_test",
            "--ignored",
            "--nocapture",
        ])
        .env(FOLDER, place.path(""))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap()
}

pub(super) fn open(place: &Place) -> std::sync::Arc<Service> {
    let folder = std::fs::canonicalize(place.path("")).unwrap();
    let configuration = Configuration::for_folder(&folder).unwrap();
    Service::open(configuration, env!("CARGO_BIN_EXE_colltune").into()).unwrap()
}

/// Submits the same tasks at each start, and ends when all of them have ended.
#[test]
#[ignore = "the process that other tests kill"]
fn serves_another_test() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let configuration = Configuration::for_folder(folder.as_ref()).unwrap();
    let executable = env!("CARGO_BIN_EXE_colltune").into();
    let service = Service::open(configuration, executable).unwrap();
    service.divide_waiting_times(100);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| service.run_tasks(&stop));
        let first = submit(&service, "a", tune("a", None));
        submit(&service, "b", tune("b", None));
        submit(&service, "a again", tune("a", None));
        submit(&service, "a in short", tune("a", Some("64")));
        loop {
            let made = service.read_task(first).unwrap().made;
            if let Some(made) = made {
                submit(&service, "validate", validate(made));
                if are_over(&service) {
                    break;
                }
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        stop.store(true, Ordering::Relaxed);
    });
}

fn submit(service: &Service, key: &str, request: TaskRequest) -> u64 {
    let actor = Actor {
        name: "tester".to_owned(),
        scopes: vec![Scope::Submit],
        machines: Vec::new(),
    };
    let key = key.replace(' ', "-");
    service
        .submit_task(&actor, &request, Some(&key))
        .unwrap()
        .task
        .id
}

fn tune(name: &str, sizes: Option<&str>) -> TaskRequest {
    TaskRequest {
        kind: TaskKind::Tune,
        machine: None,
        campaign: Some(format!("tuning/{name}.yaml")),
        table: None,
        deployment: None,
        overrides: Overrides {
            sizes: sizes.map(str::to_owned),
            ..Overrides::default()
        },
    }
}

fn validate(table: Digest) -> TaskRequest {
    TaskRequest {
        kind: TaskKind::Validate,
        campaign: None,
        table: Some(table),
        ..tune("a", None)
    }
}

fn are_over(service: &Service) -> bool {
    let tasks = service
        .list_tasks(&TaskFilter::default(), Slice::default())
        .unwrap();
    let is_over = |state| !matches!(state, TaskState::Waiting | TaskState::Running);
    tasks.items.iter().all(|task| is_over(task.state))
}

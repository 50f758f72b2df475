//! `colltune agent` and `colltune serve` as processes, which are killed.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::run::Place;
use crate::serve::Serving;

const CAMPAIGN: &str = "\
name: far
launcher: {simulated: {machine: fat-tree.yaml, seed: 7}}
shapes: [4x4]
collectives: [bcast, allreduce]
sizes: 64..64K x8
parameters: {predicted: false}
strategy: exhaustive
launches: 2
repetitions: {slice: 20ms}
budget: 10h
";

const CONFIGURATION: &str = "\
listen: 127.0.0.1:0
open_reading: true
machines:
  - name: hydra
    agent: true
";

/// An agent that is killed when it is dropped.
struct RunningAgent(Child);

impl RunningAgent {
    fn start(place: &Place, address: &str) -> Self {
        let url = format!("http://{address}");
        let args = [
            "agent",
            "--server",
            &url,
            "--token-file",
            "token",
            "--machine",
            "hydra",
        ];
        let mut command = place.command(&args);
        command.stdout(Stdio::null()).process_group(0);
        Self(command.spawn().expect("started"))
    }
}

impl Drop for RunningAgent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn folder_of_agent() -> Place {
    let place = Place::new();
    let machines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tuning/machines");
    let machine = fs::read_to_string(machines.join("fat-tree.yaml")).expect("readable");
    place.write("fat-tree.yaml", machine);
    place.write("tuning/far.yaml", CAMPAIGN);
    place
}

#[test]
fn a_task_is_carried_out_by_an_agent_that_is_killed_meanwhile() {
    let (here, there) = (Place::new(), folder_of_agent());
    here.write("service.yaml", CONFIGURATION);
    let mut serving = Serving::start(&mut here.command(&["serve", "--config", "service.yaml"]));
    let address = serving.address();
    let url = format!("http://{address}");
    let remote = |args: &[&str]| {
        let connection = ["remote", "--url", &url, "--token-file", "service/token"];
        here.run(&[&connection[..], args].concat())
    };
    let made = remote(&[
        "tokens",
        "--make",
        "hydra",
        "--scope",
        "agent",
        "--machine",
        "hydra",
    ])
    .good();
    there.write("token", &made.out);
    let never = remote(&["machines"]).good().out;
    assert!(
        never.contains("hydra") && never.contains("never"),
        "{never}"
    );
    let submit = [
        "submit",
        "tune",
        "--campaign",
        "tuning/far.yaml",
        "--machine",
        "hydra",
    ];
    remote(&submit).bad(
        2,
        &["the agent of hydra has told of no campaign `tuning/far.yaml`"],
    );
    let mut agent = RunningAgent::start(&there, &address);
    let end = Instant::now() + Duration::from_secs(60);
    // The agent tells its campaigns first.
    while remote(&submit).code != Some(0) {
        assert!(Instant::now() < end, "the campaign is not told");
        sleep(Duration::from_millis(100));
    }
    for _ in 0..3 {
        sleep(Duration::from_millis(700));
        drop(agent);
        agent = RunningAgent::start(&there, &address);
    }
    let watched = remote(&["watch", "1", "--json"]).good().json();
    assert_eq!(watched["state"], "done", "{watched}");
    assert_eq!(watched["attempts"], 1, "{watched}");
    let digest = watched["made"].as_str().expect("a table");
    let table = there.path("tables/far.yaml");
    let text = fs::read(table).expect("the table is there");
    assert_eq!(service::Digest::of_bytes(&text).as_str(), digest);
    let heard = remote(&["machines"]).good().out;
    assert!(heard.contains("just now"), "{heard}");
    let log = remote(&["log", "1"]);
    assert_eq!(log.code, Some(0), "{}", log.err);
}

#[test]
fn an_agent_of_a_machine_without_one_ends_at_once() {
    let (here, there) = (Place::new(), folder_of_agent());
    let mut serving = Serving::start(&mut here.command(&["serve", "--listen", "127.0.0.1:0"]));
    let url = format!("http://{}", serving.address());
    there.write("token", here.read("service/token"));
    let args = [
        "agent",
        "--server",
        &url,
        "--token-file",
        "token",
        "--machine",
    ];
    let run = |machine| there.run(&[&args[..], &[machine]].concat());
    run("local").bad(1, &["`agent: true`"]);
    run("other").bad(2, &["there is no machine `other`"]);
    run("../x").bad(2, &["machine: has 1 to 64 characters"]);
    there.write("token", "colltune_wrong\n");
    run("local").bad(2, &["the token is unknown"]);
}

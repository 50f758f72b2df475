//! One service and two clusters, each with a Slurm of its own, which only their agents reach.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::site::{Site, wait_until};
use crate::run::Place;
use crate::serve::Serving;

const CONFIGURATION: &str = "\
listen: 127.0.0.1:0
open_reading: true
machines:
  - {name: alpha, agent: true}
  - {name: beta, agent: true}
";

/// The agent of a cluster, which ends with the test.
struct RunningAgent(Child);

impl RunningAgent {
    fn start(site: &Site, url: &str, machine: &str) -> Self {
        let args = [
            "agent",
            "--server",
            url,
            "--token-file",
            "token",
            "--machine",
            machine,
        ];
        let mut command: Command = site.command(&args);
        command.stdout(Stdio::null());
        Self(command.spawn().expect("started"))
    }
}

impl Drop for RunningAgent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn two_clusters_under_openmpi_are_tuned_by_one_service_through_their_agents() {
    let Some(alpha) = Site::up() else { return };
    let Some(beta) = Site::up() else { return };
    let sites = [("alpha", &alpha), ("beta", &beta)];
    let here = Place::new();
    here.write("service.yaml", CONFIGURATION);
    let mut serving = Serving::start(&mut here.command(&["serve", "--config", "service.yaml"]));
    let url = format!("http://{}", serving.address());
    let remote = |args: &[&str]| {
        let connection = ["remote", "--url", &url, "--token-file", "service/token"];
        here.run(&[&connection[..], args].concat())
    };
    let mut agents = Vec::new();
    for (machine, site) in sites {
        let make = [
            "tokens",
            "--make",
            machine,
            "--scope",
            "agent",
            "--machine",
            machine,
        ];
        site.place.write("token", remote(&make).good().out);
        site.place
            .write("tuning/small.yaml", site.place.read("small.yaml"));
        agents.push(RunningAgent::start(site, &url, machine));
    }
    let tune = [
        "submit",
        "tune",
        "--campaign",
        "tuning/small.yaml",
        "--machine",
    ];
    for (machine, _) in sites {
        let submit = [&tune[..], &[machine]].concat();
        // The agent tells its campaigns first.
        wait_until("the campaign is told", || remote(&submit).code == Some(0));
    }
    // An agent that is killed leaves its job to the batch system, and the next one collects its measurements.
    wait_until("a job of alpha", || !alpha.queue().is_empty());
    drop(agents.remove(0));
    std::thread::sleep(Duration::from_millis(500));
    agents.insert(0, RunningAgent::start(&alpha, &url, "alpha"));
    for (id, (machine, site)) in ["1", "2"].into_iter().zip(sites) {
        let mut task = Value::Null;
        wait_until("the task ends", || {
            task = remote(&["task", id, "--json"]).good().json();
            task["ended_at"].is_string()
        });
        assert_eq!(task["state"], "done", "{task}");
        assert_eq!(task["request"]["machine"], machine);
        assert_eq!(task["attempts"], 1, "{task}");
        assert!(task["node_seconds"].as_f64() > Some(0.0), "{task}");
        let table = site.place.read("tables/small.yaml");
        let digest = service::Digest::of_bytes(table.as_bytes());
        assert_eq!(task["made"], digest.as_str(), "{task}");
        wait_until("the nodes are given back", || site.queue().is_empty());
    }
    // Each cluster had its own job and nothing of the other one.
    let nodes = sites.map(|(_, site)| site.bed.node(1));
    assert_ne!(nodes[0], nodes[1]);
}

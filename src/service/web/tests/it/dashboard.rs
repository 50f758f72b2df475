//! The dashboard for Grafana: its queries find what the service tells Prometheus.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use service::{ClaimRequest, NewWebhook, Scope, ServiceMachine};
use tempfile::TempDir;
use testkit::require;

use crate::fixture::{Site, exchange};
use crate::pages_bed::{Busy, admin, key};

const DASHBOARD: &str = include_str!("../../../../../scripts/grafana-dashboard.json");

/// All queries of the dashboard's panels, as for all machines.
fn queries() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    let queries = targets.map(|target| {
        let query = target["expr"].as_str().unwrap();
        query
            .replace("$machine", ".*")
            .replace("$__rate_interval", "1m")
    });
    queries.collect()
}

/// The metrics that a query names.
fn metrics_of(query: &str) -> Vec<&str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = query.split(|c| !is_name(c));
    words.filter(|word| word.starts_with("colltune_")).collect()
}

/// A site in which every metric has a value.
fn site_with_all_metrics() -> Busy {
    let busy = Busy::with(|configuration| {
        configuration.machines[0].node_hours = Some(100.0);
        configuration.machines.push(ServiceMachine {
            name: "far".to_owned(),
            campaigns: vec!["tuning/*.yaml".to_owned()],
            tasks: 1,
            node_hours: None,
            has_agent: true,
        });
    });
    let asking = ClaimRequest {
        agent: "a1".to_owned(),
        host: "login1".to_owned(),
        held: Vec::new(),
    };
    let claimed = busy.site.service.claim_task(&admin(), "far", &asking);
    assert!(claimed.unwrap().is_none());
    let new = NewWebhook {
        url: "https://site.example/".to_owned(),
        events: Vec::new(),
        machines: Vec::new(),
    };
    let made = busy.site.service.make_webhook(&admin(), &new).unwrap();
    busy.site.service.test_webhook(&admin(), made.1.id).unwrap();
    let pull = format!(
        "/api/v1/machines/local/libraries/openmpi-4.1.4/channels/{}?client=n1",
        key().channel
    );
    busy.site.get(&pull).expect(200);
    busy
}

#[test]
fn every_metric_of_the_dashboard_is_one_of_the_service() {
    let busy = site_with_all_metrics();
    let text = || busy.site.get("/metrics").expect(200).body;
    let queries = queries();
    assert!(queries.len() >= 10, "{queries:?}");
    for metric in queries.iter().flat_map(|query| metrics_of(query)) {
        let is_there = || {
            let text = text();
            let mut lines = text.lines();
            lines.any(|line| {
                line.starts_with(&format!("{metric}{{")) || line.starts_with(&format!("{metric} "))
            })
        };
        wait_for(metric, is_there);
    }
}

#[test]
fn prometheus_answers_every_query_of_the_dashboard() {
    let found = which_prometheus();
    let Some(program) = require("Prometheus", found) else {
        return;
    };
    let busy = site_with_all_metrics();
    let token = busy.token(&[Scope::Read]);
    let prometheus = Prometheus::start(&program, &busy.site, &token);
    for query in queries() {
        wait_for(&query, || {
            // Requests take place all the time.
            busy.site.get("/healthz").expect(200);
            prometheus.count_results(&query) > 0
        });
    }
}

#[track_caller]
fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "{what} has no value");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn which_prometheus() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&path).map(|folder| folder.join("prometheus"));
    places.find(|place| place.is_file())
}

/// A Prometheus that reads a site's metrics; it ends with this.
struct Prometheus {
    child: Child,
    port: u16,
    _folder: TempDir,
}

impl Prometheus {
    fn start(program: &Path, site: &Site, token: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let configuration = format!(
            "global: {{scrape_interval: 200ms}}\nscrape_configs:\n- job_name: colltune\n  \
             authorization: {{credentials: {token}}}\n  static_configs: [{{targets: ['{}']}}]\n",
            site.address.unwrap()
        );
        let file = folder.path().join("prometheus.yml");
        std::fs::write(&file, configuration).unwrap();
        // Free a moment ago; nothing else takes ports at random here.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|listener| listener.local_addr())
            .unwrap()
            .port();
        let child = Command::new(program)
            .arg(format!("--config.file={}", file.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                folder.path().join("data").display()
            ))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .arg("--log.level=error")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            child,
            port,
            _folder: folder,
        }
    }

    /// The number of series in the answer to a query; 0 while Prometheus does not answer.
    fn count_results(&self, query: &str) -> usize {
        let Ok(stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)) else {
            return 0;
        };
        let escaped: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let request =
            format!("GET /api/v1/query?query={escaped} HTTP/1.0\r\nHost: localhost\r\n\r\n");
        let answer = exchange(stream, request.as_bytes());
        if answer.status == 503 {
            return 0;
        }
        let json = answer.json();
        assert_eq!(json["status"], "success", "{query}: {json}");
        json["data"]["result"].as_array().map_or(0, Vec::len)
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

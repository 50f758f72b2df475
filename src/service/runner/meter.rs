//! How many nodes are busy for how long.

use std::time::Instant;

use serde_json::Value;

/// Node-seconds of a task, by a clock that nothing sets back.
#[derive(Debug)]
pub(super) struct Meter {
    /// Nodes that are busy now.
    nodes: f64,
    since: Instant,
    /// What has not been taken yet.
    seconds: f64,
}

impl Meter {
    pub(super) fn new(nodes: f64) -> Self {
        Self {
            nodes,
            since: Instant::now(),
            seconds: 0.0,
        }
    }

    /// Sets the number of nodes that are busy from now on.
    pub(super) fn set(&mut self, nodes: f64) {
        let now = Instant::now();
        self.seconds += self.nodes * (now - self.since).as_secs_f64();
        self.since = now;
        self.nodes = nodes;
    }

    /// Counts time that passed while the service did not run.
    pub(super) fn add(&mut self, seconds: f64) {
        self.seconds += seconds;
    }

    /// Whether nodes are busy.
    pub(super) fn runs(&self) -> bool {
        self.nodes > 0.0
    }

    /// What has come together since it was last taken.
    pub(super) fn take(&mut self) -> f64 {
        self.set(self.nodes);
        std::mem::take(&mut self.seconds)
    }

    /// Takes notice of an event of a child that follows its jobs; `most` is the number of nodes where a job does not
    /// tell its own.
    pub(super) fn hear(&mut self, event: &Value, most: f64) {
        match event["event"].as_str() {
            Some("running") => self.set(nodes_in(event).unwrap_or(most)),
            Some("queued" | "launch" | "wall_time" | "died" | "budget_spent") => self.set(0.0),
            _ => {}
        }
    }
}

/// The number of nodes on which a job runs, if it names them.
pub(super) fn nodes_in(job: &Value) -> Option<f64> {
    let nodes = job["nodes"].as_array().map(Vec::len)?;
    let nodes = u32::try_from(nodes).ok()?;
    (nodes > 0).then(|| nodes.into())
}

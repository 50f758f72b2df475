//! Accounting of node-seconds.

use std::time::Instant;

use answers::{PrintedEvent, TuningEvent};

/// Counts the node-seconds of a task, with a monotonic clock.
#[derive(Debug)]
pub(super) struct Meter {
    /// The nodes that are busy now.
    nodes: f64,
    since: Instant,
    /// Node-seconds since the last [`Meter::take_seconds`].
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

    /// Sets the number of busy nodes from now on.
    pub(super) fn set_nodes(&mut self, nodes: f64) {
        let now = Instant::now();
        self.seconds += self.nodes * (now - self.since).as_secs_f64();
        self.since = now;
        self.nodes = nodes;
    }

    /// Adds node-seconds, such as those that passed while the service did not run.
    pub(super) fn add_seconds(&mut self, seconds: f64) {
        self.seconds += seconds;
    }

    /// Whether nodes are busy.
    pub(super) fn is_running(&self) -> bool {
        self.nodes > 0.0
    }

    /// Returns the node-seconds since the last call.
    pub(super) fn take_seconds(&mut self) -> f64 {
        self.set_nodes(self.nodes);
        std::mem::take(&mut self.seconds)
    }

    /// Updates the number of busy nodes from an event of a child that waits for its jobs; `most` is the number of
    /// nodes of a job that does not name its nodes.
    pub(super) fn update_from_event(&mut self, event: &PrintedEvent, most: f64) {
        match event.known_event() {
            Some(TuningEvent::Running { nodes, .. }) => {
                self.set_nodes(count_named_nodes(nodes).unwrap_or(most));
            }
            Some(
                TuningEvent::Queued { .. }
                | TuningEvent::Launch { .. }
                | TuningEvent::WallTime { .. }
                | TuningEvent::Died { .. }
                | TuningEvent::BudgetSpent { .. },
            ) => self.set_nodes(0.0),
            _ => {}
        }
    }
}

/// The number of nodes on which a job runs, if it names them.
pub(super) fn count_named_nodes(names: &[String]) -> Option<f64> {
    let nodes = u32::try_from(names.len()).ok()?;
    (nodes > 0).then(|| nodes.into())
}

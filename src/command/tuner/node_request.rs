//! The nodes that a launch requests, and its earliest start.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agenda::has_separate_jobs;
use campaign::{Campaign, LauncherConfig};
use launcher::BatchOptions;
use store::Store;
use vocabulary::{CommShape, Library};
use wire::{Plan, PlannedTask, PlannedWork};

use crate::TunerError;
use crate::launch::OnInterrupt;
use crate::recorded::recorded_digest;

/// Nodes for one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeRequest {
    /// The number of nodes, and ranks per node.
    pub(crate) shape: CommShape,
    /// The time until the earliest start on nodes of its own; `None` for shared nodes at any time.
    pub(crate) begin_in: Option<Duration>,
    /// Whether further launches may follow on the same nodes.
    pub(crate) keep: bool,
}

impl NodeRequest {
    /// The nodes for the next launch with these tasks.
    pub(crate) fn for_tasks(
        campaign: &Campaign,
        library: &Library,
        store: &Store,
        tasks: &[PlannedTask],
        watch: OnInterrupt,
    ) -> Result<Self, TunerError> {
        let shape = shape_for_tasks(campaign, tasks);
        let spread = batch_options(campaign).and_then(|options| options.spread);
        // Commands that wait for the result, such as `check`, do not spread launches over days.
        let Some(spread) = spread.filter(|_| watch != OnInterrupt::Own) else {
            return Ok(Self {
                shape,
                begin_in: None,
                keep: watch != OnInterrupt::Submit,
            });
        };
        let last = store.last_plan_of_cells(library, &recorded_digest(store, campaign)?)?;
        let begin_in = match last {
            Some((plan, begun)) if newest_round(tasks) > newest_round(&plan.tasks) => {
                let pause = spread / campaign.launches.saturating_sub(1).max(1);
                let due = UNIX_EPOCH + Duration::from_secs(begun) + pause;
                due.duration_since(SystemTime::now()).unwrap_or_default()
            }
            // The first round, or the rest of the last one.
            _ => Duration::ZERO,
        };
        Ok(Self {
            shape,
            begin_in: Some(begin_in),
            keep: false,
        })
    }

    /// The nodes of a launch that an earlier command began.
    pub(crate) fn to_resume(campaign: &Campaign, plan: &Plan, watch: OnInterrupt) -> Self {
        Self {
            shape: shape_for_tasks(campaign, &plan.tasks),
            begin_in: None,
            keep: watch != OnInterrupt::Submit
                && batch_options(campaign).is_some_and(|o| o.spread.is_none()),
        }
    }
}

/// The nodes and ranks that suffice for all tasks, or, if nodes are shared, for the whole campaign.
fn shape_for_tasks(campaign: &Campaign, tasks: &[PlannedTask]) -> CommShape {
    let largest = campaign.largest_shape();
    let nodes = tasks.iter().map(|task| task.work.shape().nodes).max();
    match nodes {
        Some(nodes) if has_separate_jobs(campaign) => CommShape { nodes, ..largest },
        _ => largest,
    }
}

fn batch_options(campaign: &Campaign) -> Option<&BatchOptions> {
    match &campaign.launcher {
        LauncherConfig::Batch(options) => Some(options),
        LauncherConfig::Local(_) | LauncherConfig::Simulated(_) => None,
    }
}

/// The latest round of any cell.
fn newest_round(tasks: &[PlannedTask]) -> Option<u32> {
    let of_cells = |task: &&PlannedTask| matches!(task.work, PlannedWork::Compare { .. });
    tasks.iter().filter(of_cells).map(|task| task.round).max()
}

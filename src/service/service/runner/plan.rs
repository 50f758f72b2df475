//! The resources that a task needs.

use std::path::{Path, PathBuf};

use campaign::{Campaign, LauncherConfig};
use rusqlite::{Connection, OptionalExtension, Row};
use table::Deployment;

use crate::database::{json_column, query_rows};
use crate::tasks::{optional_word_column, word_column};
use crate::{Digest, ServiceError, TaskId, TaskKind, TaskRequest};

/// A waiting task as its row describes it. A task that waits for another task's result is not one of these.
#[derive(Clone, Debug)]
pub(super) struct WaitingTask {
    pub(super) id: TaskId,
    pub(super) kind: TaskKind,
    /// The machine's name.
    pub(super) machine: String,
    /// The row of its campaign.
    pub(super) campaign: Option<i64>,
    pub(super) digest: Option<Digest>,
    pub(super) deployment: Option<Deployment>,
    pub(super) reason: String,
    pub(super) cancel_asked: bool,
    /// The outcome of a child that succeeded, if the service stopped before adding its table.
    pub(super) outcome: Option<String>,
    /// Whether its results go to files of its own: with overrides, and for the tuning of a schedule, which measures again
    /// what a store of the campaign has already.
    pub(super) has_own_results: bool,
    /// The name of its schedule, unless it has been started before.
    pub(super) schedule: Option<String>,
    /// The fencing number of the agent's claim whose result is being stored.
    pub(super) claim: Option<u64>,
}

/// The columns of [`WaitingTask::from_row`]. Tasks of tables that an earlier version submitted have no campaign of their
/// own.
const COLUMNS: &str = "SELECT task.id, kind, machine.name, \
     coalesce(campaign, (SELECT version.campaign FROM version \
     WHERE version.machine = task.machine AND version.digest = task.digest)), \
     digest, reason, cancel_asked, CASE exit_code WHEN 0 THEN outcome END, request, \
     CASE attempts WHEN 0 THEN schedule END, schedule IS NOT NULL \
     FROM task JOIN machine ON machine.id = task.machine";

impl WaitingTask {
    /// Reads all of these tasks, the oldest first.
    pub(super) fn read_all(connection: &Connection) -> Result<Vec<Self>, ServiceError> {
        let query =
            format!("{COLUMNS} WHERE state = 'waiting' AND follows IS NULL ORDER BY task.id");
        query_rows(connection, &query, [], Self::from_row)
    }

    /// Reads the task that an agent's claim is about, whatever its state.
    pub(super) fn read_claimed(
        connection: &Connection,
        id: TaskId,
        fence: u64,
    ) -> Result<Self, ServiceError> {
        let query = format!("{COLUMNS} WHERE task.id = ?1");
        let task = connection.query_row(&query, [id], Self::from_row)?;
        Ok(Self {
            claim: Some(fence),
            ..task
        })
    }

    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let request: TaskRequest = json_column(row, 8)?;
        let kind: TaskKind = word_column(row, 1)?;
        let is_scheduled: bool = row.get(10)?;
        Ok(Self {
            id: row.get(0)?,
            kind,
            machine: row.get(2)?,
            campaign: row.get(3)?,
            digest: optional_word_column(row, 4)?,
            deployment: request.deployment,
            reason: row.get(5)?,
            cancel_asked: row.get(6)?,
            outcome: row.get(7)?,
            has_own_results: !request.overrides.is_empty()
                || is_scheduled && kind == TaskKind::Tune,
            schedule: row.get(9)?,
            claim: None,
        })
    }

    /// The campaign with the task's launcher.
    pub(super) fn read_campaign(
        &self,
        connection: &Connection,
    ) -> Result<Option<Campaign>, ServiceError> {
        let query = "SELECT text, digest FROM campaign WHERE id = ?1";
        let row: Option<(String, String)> = connection
            .query_row(query, [self.campaign], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        // If it cannot be parsed, the child reports that.
        Ok(row.and_then(|(text, digest)| Campaign::parse_stored(&text, &digest).ok()))
    }
}

/// The place where a task's programs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunsOn {
    /// This host, one task at a time.
    Here,
    /// Jobs of a batch system.
    Batch,
}

/// The way a task is carried out.
#[derive(Clone, Debug)]
pub(super) struct TaskPlan {
    pub(super) runs_on: RunsOn,
    /// Whether other work on this host disturbs the task.
    pub(super) measures: bool,
    /// Whether its jobs are submitted and checked step by step, so that they continue without the service.
    pub(super) in_steps: bool,
    /// The largest number of nodes that it uses at once.
    pub(super) nodes: f64,
    /// The store that it measures into, if other tasks may use the same one.
    pub(super) store: Option<PathBuf>,
}

impl TaskPlan {
    pub(super) fn for_task(task: &WaitingTask, campaign: Option<&Campaign>, folder: &Path) -> Self {
        let is_report = task.kind == TaskKind::Report;
        let launcher = campaign.map(|campaign| &campaign.launcher);
        let is_batch = matches!(launcher, Some(LauncherConfig::Batch(_))) && !is_report;
        let store = campaign.filter(|_| task.kind == TaskKind::Tune && !task.has_own_results);
        Self {
            runs_on: if is_batch {
                RunsOn::Batch
            } else {
                RunsOn::Here
            },
            measures: !is_batch
                && !is_report
                && !matches!(launcher, Some(LauncherConfig::Simulated(_))),
            in_steps: is_batch && task.kind == TaskKind::Tune,
            nodes: campaign.map_or(1.0, largest_node_count),
            store: store.map(|tuned_campaign| folder.join(&tuned_campaign.output.store)),
        }
    }
}

/// The largest number of nodes that a campaign uses at once; 1 if its ranks run on this host.
pub(crate) fn largest_node_count(campaign: &Campaign) -> f64 {
    let is_here = match &campaign.launcher {
        LauncherConfig::Local(options) => options.hosts.is_none(),
        LauncherConfig::Simulated(_) => true,
        LauncherConfig::Batch(_) => false,
    };
    if is_here {
        1.0
    } else {
        campaign.largest_shape().nodes.into()
    }
}

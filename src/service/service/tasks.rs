//! The queue of tasks: measuring, validating, checking and reporting.

mod campaign;
pub(crate) mod cancel;
mod overrides;
mod read;
mod submit;

pub(crate) use self::overrides::with_outputs;
use self::read::fetch_task;
pub(crate) use self::read::word_column;

use serde::{Deserialize, Serialize};
use strum_macros::{Display, EnumString};
use table::Deployment;
use utoipa::{IntoParams, ToSchema};

use crate::Digest;

/// The number of a task: 1, 2, ...
pub type TaskId = u64;

/// The kind of a task: the subcommand that its child process runs.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Display, EnumString, ToSchema,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum TaskKind {
    /// `colltune tune`: measure a campaign and decide.
    Tune,
    /// `colltune validate`: measure whether a table is faster than the default.
    Validate,
    /// `colltune check`: measure whether a table still holds.
    Check,
    /// `colltune report` on a campaign's store.
    Report,
}

/// The state of a task.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Display, EnumString, ToSchema,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum TaskState {
    /// Not started, or to be started again; `reason` says what the task waits for.
    Waiting,
    /// A child is running, or a batch system has a job of the task.
    Running,
    /// The task has ended; the exit code is 0, or 1 where a check says "no".
    Done,
    /// The task has ended with another exit code.
    Failed,
    /// The task was cancelled.
    Cancelled,
}

/// Values that replace those of a campaign, written as in a campaign. A task with overrides has its own store, table
/// and report; it does not replace the campaign's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Overrides {
    /// `budget`, as in `10m`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<String>,
    /// `sizes`, as in `8..1M x8`; several are separated by commas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<String>,
    /// `collectives`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collectives: Option<Vec<String>>,
    /// Node counts, 1 or more each: only the campaign's `shapes` with one of these numbers of nodes are measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Vec<u32>>,
}

/// A request for a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskRequest {
    /// The kind of the task.
    pub kind: TaskKind,
    /// The machine; may be omitted if there is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// The campaign, by its path in the service's folder. `tune` and `report` need it. `validate` and `check` start
    /// programs as it says; by default it is the campaign that made the table, or the machine's only one that measures
    /// the table's library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub campaign: Option<String>,
    /// The table: for `validate` and `check`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<Digest>,
    /// The deployment whose decisions are measured, `colltune` or `library`: for `validate` and `check`; by default the
    /// one that a release of the table activates, and `colltune` if it activates both.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub deployment: Option<Deployment>,
    /// Overrides, for `tune`.
    #[serde(default)]
    pub overrides: Overrides,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Task {
    /// Its number.
    pub id: TaskId,
    /// The request; `machine` is set.
    pub request: TaskRequest,
    /// The name of its campaign.
    pub name: Option<String>,
    /// The state.
    pub state: TaskState,
    /// The reason why it waits, what it does, or how it ended: a sentence.
    pub reason: String,
    /// The earlier task of the same campaign that this one waits for.
    pub follows: Option<TaskId>,
    /// The user who submitted it.
    pub actor: String,
    /// The time of submission, as in `2026-11-20T12:00:00Z`.
    #[schema(value_type = String)]
    pub submitted_at: jiff::Timestamp,
    /// The time of its first start.
    #[schema(value_type = Option<String>)]
    pub started_at: Option<jiff::Timestamp>,
    /// The time of its end.
    #[schema(value_type = Option<String>)]
    pub ended_at: Option<jiff::Timestamp>,
    /// The number of times it was started.
    pub attempts: u32,
    /// The exit code of its last child.
    pub exit_code: Option<i32>,
    /// The expected node-seconds, if they can be computed in advance: budget times nodes.
    pub expected_node_seconds: Option<f64>,
    /// The node-seconds used so far.
    pub node_seconds: f64,
    /// The child's final output with `--json`; without `points` if it is longer than 256 KiB. After `tune` with
    /// `digest`, the digest of the table.
    pub outcome: Option<serde_json::Value>,
    /// The table that it made, if any.
    pub made: Option<Digest>,
}

/// A part of a task's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogText {
    /// The text; invalid UTF-8 is replaced.
    pub text: String,
    /// The first byte of the next part.
    pub next: u64,
    /// The length of the whole log in bytes.
    pub length: u64,
}

/// The result of submitting a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Submitted {
    /// The task.
    pub task: Task,
    /// False if an earlier request of the same actor had the same idempotency key; `task` is then that request's
    /// task.
    pub is_new: bool,
}

/// The selection of tasks.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct TaskFilter {
    /// Only those in this state.
    pub state: Option<TaskState>,
    /// Only those of this machine.
    pub machine: Option<String>,
    /// Only those of this campaign, by its path.
    pub campaign: Option<String>,
    /// Only those of these machines, as for a reader of some machines.
    #[serde(skip)]
    #[param(ignore)]
    pub machines: Option<Vec<String>>,
}

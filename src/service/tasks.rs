//! The queue: what is to be measured, validated, checked or reported on.

pub(crate) mod cancel;
mod overrides;
mod read;
mod submit;

pub(crate) use self::overrides::with_outputs;
use self::read::fetch;
pub(crate) use self::read::word;

use serde::{Deserialize, Serialize};
use strum_macros::{Display, EnumString};
use utoipa::{IntoParams, ToSchema};

use crate::Digest;

/// The number of a task: 1, 2, ...
pub type TaskId = u64;

/// What a task does: the verb of the command line that its child process carries out.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Display, EnumString, ToSchema,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum TaskKind {
    /// `colltune tune`: measure a campaign and decide.
    Tune,
    /// `colltune validate`: is a table faster than the default?
    Validate,
    /// `colltune check`: does a table still hold?
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
    /// Not started, or to be started again; `reason` says what it waits for.
    Waiting,
    /// A child is at work, or a batch system has a job of it.
    Running,
    /// The task has ended; the exit code is 0, or 1 where a check says "no".
    Done,
    /// The task has ended with another exit code.
    Failed,
    /// The task was cancelled.
    Cancelled,
}

/// Values that take the place of a campaign's own. All are written as in a campaign. A task with overrides has a store,
/// a table and a report of its own: it replaces nothing that the campaign itself has made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Overrides {
    /// `budget`, as in `10m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<String>,
    /// `sizes`, as in `8..1M x8`; several are separated by commas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<String>,
    /// `collectives`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collectives: Option<Vec<String>>,
    /// Node counts, 1 or more each: of the campaign's `shapes` only those with one of these numbers of nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Vec<u32>>,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskRequest {
    /// What to do.
    pub kind: TaskKind,
    /// The machine; may be left out where there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// The campaign, by its path in the service's folder: for `tune` and `report`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub campaign: Option<String>,
    /// The table: for `validate` and `check`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<Digest>,
    /// For `tune`.
    #[serde(default)]
    pub overrides: Overrides,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Task {
    /// Its number.
    pub id: TaskId,
    /// What was asked for; `machine` is set.
    pub request: TaskRequest,
    /// The name of its campaign.
    pub name: Option<String>,
    /// The state.
    pub state: TaskState,
    /// Why it waits, what it does, or how it ended: a sentence.
    pub reason: String,
    /// The earlier task of the same campaign that this one waits for.
    pub follows: Option<TaskId>,
    /// The user who submitted it.
    pub actor: String,
    /// When, as in `2026-11-20T12:00:00Z`.
    #[schema(value_type = String)]
    pub submitted_at: jiff::Timestamp,
    /// When it first began.
    #[schema(value_type = Option<String>)]
    pub started_at: Option<jiff::Timestamp>,
    /// When it ended.
    #[schema(value_type = Option<String>)]
    pub ended_at: Option<jiff::Timestamp>,
    /// How often it was begun.
    pub attempts: u32,
    /// The exit code of its last child.
    pub exit_code: Option<i32>,
    /// Node-seconds that it is expected to take, where that is known before: budget times nodes.
    pub expected_node_seconds: Option<f64>,
    /// Node-seconds that it has taken.
    pub node_seconds: f64,
    /// What the child printed at its end with `--json`; where that is longer than 256 KiB, without `points`. After
    /// `tune` also `digest`, that of the table.
    pub outcome: Option<serde_json::Value>,
    /// The table that it made, if any.
    pub made: Option<Digest>,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Submitted {
    /// The task.
    pub task: Task,
    /// False if an earlier request of the same actor had the same idempotency key: this is its task.
    pub is_new: bool,
}

/// The tasks that are asked for.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct TaskFilter {
    /// Only those in this state.
    #[serde(default)]
    pub state: Option<TaskState>,
    /// Only those of this machine.
    #[serde(default)]
    pub machine: Option<String>,
    /// Only those of this campaign, by its path.
    #[serde(default)]
    pub campaign: Option<String>,
}

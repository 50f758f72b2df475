//! Tasks: the requests for them, their states and their logs.

use serde::{Deserialize, Serialize};
use strum_macros::{Display, EnumString, IntoStaticStr};
use table::Deployment;
use utoipa::ToSchema;

use crate::Digest;

/// The number of a task: 1, 2, ...
pub type TaskId = u64;

/// The kind of a task: the subcommand that its child process runs.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    IntoStaticStr,
    ToSchema,
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

impl TaskKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Tune, Self::Validate, Self::Check, Self::Report];
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

impl Overrides {
    /// Whether nothing is overridden.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Task {
    /// Its number.
    pub id: TaskId,
    /// The request; `machine` is set.
    #[serde(deserialize_with = "AnsweredRequest::deserialize")]
    pub request: TaskRequest,
    /// The name of its campaign.
    pub name: Option<String>,
    /// The state.
    pub state: TaskState,
    /// The reason why it waits, what it does, or how it ended: a sentence.
    pub reason: String,
    /// The earlier task of the same campaign that this one waits for.
    pub follows: Option<TaskId>,
    /// The user who submitted it; `schedule NAME` for a schedule.
    pub actor: String,
    /// The schedule that submitted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
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

impl Task {
    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        !matches!(self.state, TaskState::Waiting | TaskState::Running)
    }
}

/// A request within a task, for reading: a later version may know more keys than this one, which refuses them only in
/// requests.
#[derive(Deserialize)]
#[serde(remote = "TaskRequest")]
pub(crate) struct AnsweredRequest {
    kind: TaskKind,
    machine: Option<String>,
    campaign: Option<String>,
    table: Option<Digest>,
    deployment: Option<Deployment>,
    #[serde(default, deserialize_with = "AnsweredOverrides::deserialize")]
    overrides: Overrides,
}

/// The overrides of such a request.
#[derive(Deserialize)]
#[serde(remote = "Overrides")]
struct AnsweredOverrides {
    budget: Option<String>,
    sizes: Option<String>,
    collectives: Option<Vec<String>>,
    nodes: Option<Vec<u32>>,
}

/// A part of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogPart {
    /// At most 256 KiB; invalid UTF-8 is replaced.
    pub text: String,
    /// The value of `from` for the next part.
    pub next: u64,
    /// The length of the whole log in bytes.
    pub length: u64,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request() -> TaskRequest {
        TaskRequest {
            kind: TaskKind::Validate,
            machine: Some("local".to_owned()),
            campaign: None,
            table: Some(Digest::of_bytes(b"a table")),
            deployment: Some(Deployment::Library),
            overrides: Overrides {
                sizes: Some("64,16K".to_owned()),
                nodes: Some(vec![1, 2]),
                ..Overrides::default()
            },
        }
    }

    fn task() -> Task {
        Task {
            id: 7,
            request: request(),
            name: None,
            state: TaskState::Done,
            reason: "none of 3 points is slower".to_owned(),
            follows: Some(6),
            actor: "schedule nightly".to_owned(),
            schedule: Some("nightly".to_owned()),
            submitted_at: "2026-11-20T12:00:00Z".parse().expect("a time"),
            started_at: Some("2026-11-20T12:00:01.25Z".parse().expect("a time")),
            ended_at: None,
            attempts: 1,
            exit_code: Some(0),
            expected_node_seconds: Some(240.5),
            node_seconds: 0.25,
            outcome: Some(json!({"points": []})),
            made: None,
        }
    }

    #[test]
    fn tasks_are_read_as_they_are_written() {
        let text = serde_json::to_string(&task()).expect("JSON");
        let read: Task = serde_json::from_str(&text).expect("readable");
        assert_eq!(read, task());
        assert!(read.has_ended());
        for (state, has_ended) in [
            (TaskState::Waiting, false),
            (TaskState::Running, false),
            (TaskState::Failed, true),
            (TaskState::Cancelled, true),
        ] {
            assert_eq!(Task { state, ..task() }.has_ended(), has_ended, "{state}");
        }
        let part = LogPart {
            text: "a line\n".to_owned(),
            next: 7,
            length: 9,
        };
        let part_text = serde_json::to_string(&part).expect("JSON");
        assert_eq!(part_text, r#"{"text":"a line\n","next":7,"length":9}"#);
        let read_part: LogPart = serde_json::from_str(&part_text).expect("readable");
        assert_eq!(read_part, part);
    }

    /// The service refuses keys that it does not know; a client ignores those of a later service.
    #[test]
    fn only_requests_are_strict() {
        let strict = json!(request());
        let read: TaskRequest = TaskRequest::deserialize(&strict).expect("readable");
        assert_eq!(read, request());
        for place in ["/urgency", "/overrides/gpus"] {
            let mut answer = json!(task());
            let (parent, key) = place.rsplit_once('/').expect("a key");
            let pointer = format!("/request{parent}");
            let fields = answer.pointer_mut(&pointer).expect("an object");
            fields[key] = json!(1);
            let read_answer = Task::deserialize(&answer).expect("readable");
            assert_eq!(read_answer, task(), "{place}");
            let refused = TaskRequest::deserialize(&answer["request"]).expect_err("strict");
            assert!(refused.to_string().contains(key), "{refused}");
        }
    }

    #[test]
    fn words_are_the_same_in_json_and_for_people() {
        for kind in TaskKind::ALL {
            let word = kind.to_string();
            assert_eq!(serde_json::to_value(kind).expect("JSON"), word.as_str());
            assert_eq!(word.parse::<TaskKind>().ok(), Some(kind));
            assert_eq!(<&str>::from(kind), word);
        }
    }
}

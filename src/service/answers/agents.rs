//! Agents: what they tell the service of a machine that it does not reach, and what they get to do.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{Digest, PrintedEvent, TaskId, TaskRequest, TaskState};

/// A campaign of an agent's folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentCampaign {
    /// Its path in the folder, with `/` between its parts.
    pub path: String,
    /// Its text, with the contents of the job files that it names in place of their names.
    pub text: String,
}

/// All campaigns that an agent may run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentCampaigns {
    /// The campaigns; they replace those of an earlier request.
    pub campaigns: Vec<AgentCampaign>,
}

/// An agent's request for a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimRequest {
    /// The random name of the agent's folder: 1 to 64 letters and digits.
    pub agent: String,
    /// The host on which the agent runs.
    pub host: String,
    /// The fencing numbers of the claims that the agent has and the service has not acknowledged. Another claim of this
    /// agent is given again, as its answer was lost.
    pub held: Vec<u64>,
}

/// The identity of a claim. A restored backup may give the same number again, but not the same nonce.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimId {
    /// The fencing number: of several claims of a task, the one with the largest number is valid.
    pub fence: u64,
    /// Random letters and digits.
    pub nonce: String,
}

/// A task that an agent is to carry out. The agent refuses keys of the request that it does not know, as it would do
/// something else than what was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClaimedTask {
    /// The claim.
    pub claim: ClaimId,
    /// The number of the task.
    pub task: TaskId,
    /// The request; `machine` is set.
    pub request: TaskRequest,
    /// SHA-256 of the text of the campaign with which the task was submitted, its overrides applied. The agent carries
    /// out its own file, and only if it has this digest.
    pub campaign: Digest,
    /// The schedule that submitted the task: it then measures again.
    pub schedule: Option<String>,
    /// The text of the table that is validated or checked.
    pub table: Option<String>,
}

/// A part of a log, as an agent sends it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LogChunk {
    /// The first byte in the agent's log.
    pub from: u64,
    /// Whole lines.
    pub text: String,
    /// The byte after the last one in the agent's log.
    pub next: u64,
}

/// What an agent reports of a task that it carries out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    /// The claim.
    pub claim: ClaimId,
    /// What the task waits for or does: a sentence.
    pub reason: String,
    /// The node-seconds that the agent has used for it.
    pub node_seconds: f64,
    /// The last event of measuring, as `colltune tune --events` prints it.
    #[schema(value_type = Option<Value>)]
    pub progress: Option<PrintedEvent>,
    /// The next part of the log, if there is one.
    pub log: Option<LogChunk>,
}

/// The answer to a heartbeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HeartbeatAnswer {
    /// Whether the task is to be cancelled.
    pub cancel: bool,
    /// The first byte of the agent's log that the service lacks.
    pub log_next: u64,
}

/// The result of a task that an agent has carried out. It may be sent again until it is acknowledged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Completion {
    /// The claim.
    pub claim: ClaimId,
    /// `done`, `failed` or `cancelled`.
    pub state: TaskState,
    /// How it ended: a sentence.
    pub reason: String,
    /// The exit code of the last child.
    pub exit_code: Option<i32>,
    /// The last child's final output with `--json`.
    pub outcome: Option<Value>,
    /// The node-seconds that the agent has used for it.
    pub node_seconds: f64,
    /// The table that it made, which must have been added to the machine's tables.
    pub table: Option<Digest>,
}

/// The acknowledgement of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Completed {
    /// Whether this result ended the task; false if it had ended before.
    pub counts: bool,
}

/// The agent of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MachineAgent {
    /// The host on which it runs.
    pub host: String,
    /// The time at which it was last heard, to 20 seconds.
    #[schema(value_type = String)]
    pub heard_at: jiff::Timestamp,
}

/// A machine that tasks run on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Machine)]
pub struct ListedMachine {
    /// Its name.
    pub name: String,
    /// Patterns of the campaigns that may run on it.
    pub campaigns: Vec<String>,
    /// The most tasks of batch systems that run at once; of an agent, the most tasks of any kind.
    pub tasks: u32,
    /// Node-hours per calendar month (UTC) after which no new tasks start.
    pub node_hours: Option<f64>,
    /// Node-hours that tasks have used in this calendar month.
    pub node_hours_this_month: f64,
    /// Whether an agent carries out its tasks.
    #[serde(default)]
    pub has_agent: bool,
    /// The agent, if it was ever heard.
    #[serde(default)]
    pub agent: Option<MachineAgent>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// An agent must not do something else than what a later service asks of it; all else is read leniently.
    #[test]
    fn claimed_requests_are_strict() {
        let mut claimed = json!({
            "claim": {"fence": 3, "nonce": "ab"},
            "task": 7,
            "request": {"kind": "tune", "machine": "hydra", "campaign": "tuning/a.yaml"},
            "campaign": Digest::of_bytes(b"text"),
            "schedule": null,
            "table": null,
            "later": 1,
        });
        let read = ClaimedTask::deserialize(&claimed).expect("readable");
        assert_eq!(read.claim.fence, 3);
        claimed["request"]["overrides"] = json!({"gpus": 4});
        let refused = ClaimedTask::deserialize(&claimed).expect_err("strict");
        assert!(refused.to_string().contains("gpus"), "{refused}");
    }

    #[test]
    fn machines_of_earlier_services_have_no_agent() {
        let machine = json!({
            "name": "local", "campaigns": ["tuning/*.yaml"], "tasks": 1, "node_hours": null, "node_hours_this_month": 0.5,
        });
        let read = ListedMachine::deserialize(&machine).expect("readable");
        assert!(!read.has_agent && read.agent.is_none());
    }
}

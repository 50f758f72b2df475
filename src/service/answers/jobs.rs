//! Launches in batch jobs, and the results of measuring and of submitting.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum_macros::IntoStaticStr;
use vocabulary::CampaignProgress;

/// The state of a launch that was submitted to a batch system, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum JobStateName {
    /// The job waits.
    Queued,
    /// The job runs.
    Running,
    /// The launch is complete.
    Done,
    /// The launch ended with an exit code.
    Failed,
    /// The job's wall time was over.
    WallTime,
    /// The job was cancelled.
    Cancelled,
    /// The batch system took the job's nodes away.
    Preempted,
    /// A node failed.
    NodeFailed,
    /// The job needed more memory than it had.
    OutOfMemory,
    /// The job's script did not begin.
    NotBegun,
    /// The batch system no longer knows the job.
    Lost,
    /// The launch took too long.
    TimedOut,
    /// The launch was killed.
    Killed,
    /// The job has ended; what the launch came to is not known yet.
    Ended,
    /// The state is not known, or not to this version.
    #[serde(other)]
    Unknown,
}

impl JobStateName {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The state of a launch that was submitted to a batch system.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LaunchState {
    /// The state of the job.
    #[serde(rename = "state")]
    #[schemars(with = "String", extend("enum" = [
        "queued", "running", "done", "failed", "wall_time", "cancelled", "preempted", "node_failed", "out_of_memory",
        "not_begun", "lost", "timed_out", "killed", "ended", "unknown"
    ]))]
    pub name: JobStateName,
    /// The reason why it waits, in the scheduler's words.
    pub reason: Option<String>,
    /// The names of the nodes on which it runs.
    #[serde(rename = "on")]
    pub nodes: Vec<String>,
    /// The exit code of a launch that failed.
    pub code: Option<i32>,
}

impl LaunchState {
    /// A state with nothing but a name.
    pub fn named(name: JobStateName) -> Self {
        Self {
            name,
            reason: None,
            nodes: Vec::new(),
            code: None,
        }
    }
}

/// The result of measuring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Measured {
    /// The number of launches made now.
    pub launches: u32,
    /// The campaign's progress.
    #[serde(flatten)]
    pub progress: CampaignProgress,
}

/// The result of submitting.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SubmittedLaunch {
    /// The job that continues; null if nothing is left to measure.
    pub job: Option<SubmittedJob>,
    /// The campaign's progress.
    #[serde(flatten)]
    pub progress: CampaignProgress,
}

/// A launch that continues without the command.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SubmittedJob {
    /// The number of the launch.
    pub launch: u32,
    /// The batch system's id of the job.
    pub id: String,
    /// The state of the launch.
    #[serde(flatten)]
    pub state: LaunchState,
    /// Whether it was submitted now.
    #[serde(rename = "submitted")]
    pub is_new: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUBMITTED: &str = r#"{"job":{"launch":1,"id":"7","state":"running","reason":null,"on":["n1","n2"],"code":null,"submitted":false},"done":1,"total":4}"#;

    #[test]
    fn a_submitted_job_is_read_as_it_is_written() {
        let nodes = vec!["n1".to_owned(), "n2".to_owned()];
        let submitted = SubmittedLaunch {
            job: Some(SubmittedJob {
                launch: 1,
                id: "7".to_owned(),
                state: LaunchState {
                    nodes,
                    ..LaunchState::named(JobStateName::Running)
                },
                is_new: false,
            }),
            progress: CampaignProgress { done: 1, total: 4 },
        };
        assert_eq!(serde_json::to_string(&submitted).expect("JSON"), SUBMITTED);
        let read: SubmittedLaunch = serde_json::from_str(SUBMITTED).expect("readable");
        assert_eq!(read, submitted);
        let later = SUBMITTED.replace("\"running\"", "\"hibernating\",\"since\":1");
        let read_later: SubmittedLaunch = serde_json::from_str(&later).expect("readable");
        let state = read_later.job.map(|job| job.state.name);
        assert_eq!(state, Some(JobStateName::Unknown));
    }

    #[test]
    fn measuring_is_read_as_it_is_written() {
        let measured = Measured {
            launches: 2,
            progress: CampaignProgress { done: 1, total: 4 },
        };
        let text = serde_json::to_string(&measured).expect("JSON");
        assert_eq!(text, r#"{"launches":2,"done":1,"total":4}"#);
        let read: Measured = serde_json::from_str(&text).expect("readable");
        assert_eq!(read, measured);
    }

    /// The schema lists the names by hand, since names that are an enumeration of their own would change it.
    #[test]
    fn the_schema_lists_the_names_of_states() {
        let schema = schemars::schema_for!(LaunchState);
        let listed = schema.as_value()["properties"]["state"]["enum"].clone();
        let names: Vec<String> = serde_json::from_value(listed).expect("names");
        assert_eq!(names.len(), 15);
        for name in &names {
            let read: JobStateName = serde_json::from_value(name.as_str().into()).expect("a name");
            assert_eq!(
                (read.name(), serde_json::to_value(read).expect("JSON")),
                (&**name, name.as_str().into())
            );
        }
    }
}

//! The record of a submitted job.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A submitted job: a file beside the plan, `NNNN.job.json`, by which the job can be found from any login node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submission {
    /// The batch system: [`crate::Words::name`].
    pub system: String,
    /// Its id in the batch system.
    pub id: String,
    /// The cluster or server, if the batch system names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The job's name in the queue.
    pub name: String,
    /// The time of submission, in seconds since 1970.
    pub submitted: u64,
    /// Number of requested nodes.
    pub nodes: u32,
    /// The script.
    pub script: PathBuf,
    /// The output of the script.
    pub output: PathBuf,
    /// The folder through which the job gets orders and returns their outcomes.
    pub allocation: PathBuf,
}

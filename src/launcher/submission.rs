//! What is known of a job beside its plan.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A job as it was submitted: a file beside the plan, `NNNN.job.json`, from which any login node can find
/// the job again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submission {
    /// The batch system: [`crate::Words::name`].
    pub system: String,
    /// Its id of the job, as it prints it.
    pub id: String,
    /// The cluster or server, where the batch system names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The job's name in the queue.
    pub name: String,
    /// When it was submitted, in seconds since 1970.
    pub submitted: u64,
    /// Nodes asked for.
    pub nodes: u32,
    /// The script.
    pub script: PathBuf,
    /// What the script prints.
    pub output: PathBuf,
    /// The folder by which the job is told what to launch, and says how that ended.
    pub allocation: PathBuf,
}

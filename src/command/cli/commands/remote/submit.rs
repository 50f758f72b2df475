use answers::{Digest, Overrides, Task, TaskKind, TaskRequest};
use client::Ask;
use serde_json::{Value, json};
use table::Deployment;

use super::tasks::{describe_task, follow_to_end};
use super::{Answer, CliError, RemoteSession};
use crate::values;

/// Submit a task
///
/// Campaigns are named by their paths in the service's folder. If a task of the same campaign is queued or running, the
/// new task waits for it and takes its result.
///
/// With --wait, exits like the task's own verb: with 0, with 1 if a validation or check answers "no", or with another
/// code if it failed; with 3 if the task was cancelled.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune remote submit tune --campaign tuning/night.yaml --budget 10m --wait
  colltune remote submit validate --machine cluster --table DIGEST --key nightly-2026-11-20 --json")]
pub(super) struct SubmitArgs {
    /// The kind of task
    #[arg(value_name = "KIND", value_parser = values::task_kind_parser())]
    kind: TaskKind,
    /// The machine; optional if the service has only one
    #[arg(long)]
    machine: Option<String>,
    /// The campaign, by its path in the service's folder. tune and report need it; validate and check start programs as
    /// it says, by default with the campaign that made the table, or the machine's only one for the table's library
    #[arg(long, value_name = "PATH")]
    campaign: Option<String>,
    /// The digest of the table: for validate and check
    #[arg(long, value_name = "DIGEST")]
    table: Option<Digest>,
    /// The decisions to measure, those for colltune or those for the library's own settings: for validate and check; by
    /// default those that a release of the table activates, and those for colltune if it activates both
    #[arg(long, value_parser = values::deployment_parser())]
    deployment: Option<Deployment>,
    /// The budget, as in 10m; by default the campaign's
    #[arg(long, value_name = "DURATION")]
    budget: Option<String>,
    /// The sizes, as in `64,16K` or `8..1M x8`; by default the campaign's
    #[arg(long)]
    sizes: Option<String>,
    /// The collectives; by default the campaign's
    #[arg(long, value_delimiter = ',')]
    collectives: Option<Vec<String>>,
    /// Only the campaign's shapes with one of these numbers of nodes
    #[arg(long, value_delimiter = ',')]
    nodes: Option<Vec<u32>>,
    /// An idempotency key for this request: a request with the same key adds no second task
    #[arg(long)]
    key: Option<String>,
    /// Follow the task to its end
    #[arg(long)]
    wait: bool,
}

impl SubmitArgs {
    pub(super) fn run(&self, asking: &RemoteSession) -> Result<Answer, CliError> {
        let body = json!(self.to_request());
        let mut ask = Ask::post("/tasks", &body);
        if let Some(key) = &self.key {
            ask = ask.with_header("idempotency-key", key);
        }
        let (answer, task): (Value, Task) = asking.remote.request_as(ask)?;
        if self.wait {
            follow_to_end(asking, task.id)
        } else {
            asking.print_answer(&answer, || describe_task(&task))
        }
    }

    fn to_request(&self) -> TaskRequest {
        TaskRequest {
            kind: self.kind,
            machine: self.machine.clone(),
            campaign: self.campaign.clone(),
            table: self.table.clone(),
            deployment: self.deployment,
            overrides: Overrides {
                budget: self.budget.clone(),
                sizes: self.sizes.clone(),
                collectives: self.collectives.clone(),
                nodes: self.nodes.clone(),
            },
        }
    }
}

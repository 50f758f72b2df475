use std::path::PathBuf;

use serde_json::{Value, json};
use tuner::JobRow;

use super::grid::grid;
use super::launches::{describe, folder_of, folders_here, state};
use super::workplace::places;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Answer;

/// List the jobs of campaigns, and what each has measured
///
/// Shows every launch that was given to a batch system: the job's id, campaign and number of the launch,
/// where it stands, for how many nodes, when it was submitted, and how many measurements it has made so far.
/// The batch system is asked once, and only about launches whose files do not tell that they have ended.
/// One job may serve several launches.
///
/// With --json, prints an array of objects: `id`, `campaign`, `launch`, `state` (queued, running, done,
/// failed, wall_time, cancelled, preempted, node_failed, out_of_memory, not_begun, lost, timed_out, killed,
/// ended, unknown), `reason` (why it waits, in the scheduler's words), `code` (of a launch that failed),
/// `nodes` (asked for), `on` (names of nodes on which it runs), `submitted` (seconds since 1970),
/// `measured` (measurements of one cell in one launch), `script` and `output` (paths).
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Campaigns; all of the working directory's `.colltune` if none is named
    #[arg(value_name = "CAMPAIGN.yaml")]
    campaigns: Vec<PathBuf>,
    /// Print the jobs as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  colltune jobs
  colltune jobs tuning/cluster.yaml --json";

impl Args {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let folders = match self.campaigns.as_slice() {
            [] => folders_here()?,
            campaigns => campaigns
                .iter()
                .map(|campaign| folder_of(campaign))
                .collect::<Result<_, _>>()?,
        };
        let path = places().path;
        let mut rows = Vec::new();
        for folder in folders {
            rows.extend(tuner::jobs(&folder, &path)?);
        }
        if self.json {
            console.json(&rows.iter().map(to_json).collect::<Vec<_>>())?;
        } else if rows.is_empty() {
            console.remark("no jobs")?;
        } else {
            console.print(table(&rows))?;
        }
        Ok(Answer::Good)
    }
}

fn to_json(row: &JobRow) -> Value {
    let (submission, state) = (&row.job.submission, state(&row.job.state));
    json!({
        "id": submission.id,
        "campaign": row.campaign,
        "launch": row.job.launch,
        "state": state.name,
        "reason": state.reason,
        "code": state.code,
        "nodes": submission.nodes,
        "on": state.nodes,
        "submitted": submission.submitted,
        "measured": row.measured,
        "script": submission.script,
        "output": submission.output,
    })
}

fn table(rows: &[JobRow]) -> String {
    let columns = [
        "job",
        "campaign",
        "launch>",
        "state",
        "nodes>",
        "submitted (UTC)",
        "measured>",
    ];
    let rows = rows.iter().map(|row| {
        let submission = &row.job.submission;
        let submitted = i64::try_from(submission.submitted).unwrap_or(0);
        let submitted = jiff::Timestamp::from_second(submitted)
            .map(|time| time.strftime("%Y-%m-%d %H:%M:%S").to_string());
        [
            submission.id.clone(),
            row.campaign.clone(),
            row.job.launch.to_string(),
            describe(&row.job.state),
            submission.nodes.to_string(),
            submitted.unwrap_or_default(),
            row.measured.to_string(),
        ]
    });
    grid(columns, rows)
}

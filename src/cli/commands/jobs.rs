use std::path::{Path, PathBuf};

use report::grid;
use schemars::JsonSchema;
use serde::Serialize;
use tuner::JobRow;

use super::campaign::places;
use super::launches::{State, describe, folder_of, folders_here, state};
use super::{Answer, CliError, Console};

/// List the batch jobs of campaigns
///
/// Shows every launch that was submitted to a batch system: the job's id, the campaign, the number and state of the
/// launch, the number of nodes, the time of submission, and the number of measurements made so far. The batch system
/// is queried once, and only for launches whose files do not show that they have ended. One job may serve several
/// launches.
///
/// `colltune schema jobs` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune jobs
  colltune jobs tuning/cluster.yaml --json")]
pub(crate) struct Args {
    /// The campaigns; by default all that have a store in `.colltune` of the working directory
    #[arg(value_name = "CAMPAIGN.yaml")]
    campaigns: Vec<PathBuf>,
    /// Print the jobs as JSON
    #[arg(long)]
    json: bool,
}

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
            console.json(&rows.iter().map(Job::of).collect::<Vec<_>>())?;
        } else if rows.is_empty() {
            console.remark("no jobs")?;
        } else {
            console.print(table(&rows))?;
        }
        Ok(Answer::Good)
    }
}

/// A launch in a batch job.
#[derive(JsonSchema, Serialize)]
pub(super) struct Job<'a> {
    /// The batch system's id of the job; one job may serve several launches.
    id: &'a str,
    /// Name of the campaign.
    campaign: &'a str,
    /// The number of the launch.
    launch: u32,
    #[serde(flatten)]
    state: State,
    /// The number of nodes requested.
    nodes: u32,
    /// The time of submission, in seconds since 1970.
    submitted: u64,
    /// Measurements made so far, each of one cell in one launch.
    measured: u64,
    /// The script.
    script: &'a Path,
    /// The file with the script's output.
    output: &'a Path,
}

impl<'a> Job<'a> {
    fn of(row: &'a JobRow) -> Self {
        let submission = &row.job.submission;
        Self {
            id: &submission.id,
            campaign: &row.campaign,
            launch: row.job.launch,
            state: state(&row.job.state),
            nodes: submission.nodes,
            submitted: submission.submitted,
            measured: row.measured,
            script: &submission.script,
            output: &submission.output,
        }
    }
}

fn table(rows: &[JobRow]) -> String {
    let columns = "job | campaign | launch> | state | nodes> | submitted (UTC) | measured>";
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
    grid(columns, rows).text()
}

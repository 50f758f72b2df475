use std::path::PathBuf;

use report::text_table;
use tuner::JobRow;

use super::campaign::search_paths;
use super::launches::{describe_launch_state, launches_folder, launches_folders_here};
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
pub(crate) struct JobsArgs {
    /// The campaigns; by default all that have a store in `.colltune` of the working directory
    #[arg(value_name = "CAMPAIGN.yaml")]
    campaigns: Vec<PathBuf>,
    /// Print the jobs as JSON
    #[arg(long)]
    json: bool,
}

impl JobsArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let folders = match self.campaigns.as_slice() {
            [] => launches_folders_here()?,
            campaigns => campaigns
                .iter()
                .map(|campaign| launches_folder(campaign))
                .collect::<Result<_, _>>()?,
        };
        let path = search_paths().path;
        let mut rows = Vec::new();
        for folder in folders {
            rows.extend(tuner::list_jobs(&folder, &path)?);
        }
        if self.json {
            console.print_json(&rows)?;
        } else if rows.is_empty() {
            console.remark("no jobs")?;
        } else {
            console.print(jobs_table(&rows))?;
        }
        Ok(Answer::Good)
    }
}

fn jobs_table(rows: &[JobRow]) -> String {
    let columns = "job | campaign | launch> | state | nodes> | submitted (UTC) | measured>";
    let rows = rows.iter().map(|row| {
        let submitted = i64::try_from(row.submitted).unwrap_or(0);
        let submitted = jiff::Timestamp::from_second(submitted)
            .map(|time| time.strftime("%Y-%m-%d %H:%M:%S").to_string());
        [
            row.id.clone(),
            row.campaign.clone(),
            row.launch.to_string(),
            describe_launch_state(&row.state),
            row.nodes.to_string(),
            submitted.unwrap_or_default(),
            row.measured.to_string(),
        ]
    });
    text_table(columns, rows).to_text()
}

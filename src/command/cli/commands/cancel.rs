use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tuner::Cancelled;

use super::campaign::search_paths;
use super::launches::{launches_folder, launches_folders_here};
use super::{Answer, CliError, Console};

/// Cancel the batch jobs of campaigns, keeping their measurements
///
/// Cancels the jobs, waits until they have ended, stores their measurements, and prints the campaign's progress;
/// `tune` continues from there. A command that follows the jobs, on any host, reports that they were cancelled. If no
/// job waits or runs, nothing is cancelled and the exit code is 0.
///
/// `colltune schema cancel` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune cancel tuning/cluster.yaml
  colltune cancel 4711")]
pub(crate) struct CancelArgs {
    /// The campaigns, or ids of jobs of campaigns in the working directory
    #[arg(value_name = "CAMPAIGN.yaml|ID", required = true)]
    meant: Vec<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl CancelArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let places = search_paths();
        let mut ended = Vec::new();
        for (folder, ids) in self.jobs_by_folder()? {
            ended.push(tuner::cancel_jobs(&folder, ids.as_deref(), &places)?);
        }
        if self.json {
            console.print_json(&ended)?;
        } else {
            for campaign in &ended {
                console.remark(describe_cancelled(campaign))?;
            }
        }
        Ok(Answer::Good)
    }

    /// The jobs to cancel: for each folder of launches their ids, or `None` for all.
    fn jobs_by_folder(&self) -> Result<BTreeMap<PathBuf, Option<Vec<String>>>, CliError> {
        let mut folders: BTreeMap<PathBuf, Option<Vec<String>>> = BTreeMap::new();
        for meant in &self.meant {
            if is_campaign(meant) {
                folders.insert(launches_folder(Path::new(meant))?, None);
                continue;
            }
            let folder = folder_of_job(meant)?;
            if let Some(ids) = folders.entry(folder).or_insert_with(|| Some(Vec::new())) {
                ids.push(meant.clone());
            }
        }
        Ok(folders)
    }
}

/// Whether an argument is a campaign's file; otherwise it is a job's id.
fn is_campaign(meant: &str) -> bool {
    meant.ends_with(".yaml") || meant.ends_with(".yml") || Path::new(meant).is_file()
}

fn folder_of_job(id: &str) -> Result<PathBuf, CliError> {
    let searched = launches_folders_here()?;
    for folder in &searched {
        let submissions = launcher::read_submissions(folder).map_err(tuner::TunerError::from)?;
        if submissions.values().any(|submission| submission.id == id) {
            return Ok(folder.clone());
        }
    }
    let id = id.to_owned();
    Err(CliError::UnknownJob { id, searched })
}

fn describe_cancelled(ended: &Cancelled) -> String {
    let what = match &ended.jobs[..] {
        [] => "no job waits or runs".to_owned(),
        [id] => format!("job {id} is cancelled"),
        ids => format!("jobs {} are cancelled", ids.join(", ")),
    };
    let name = &ended.campaign;
    match ended.done.zip(ended.total) {
        Some((done, total)) => format!(
            "{name}: {what}; measurements stored: {done} of {total}; `colltune tune` continues from there"
        ),
        None => format!("{name}: {what}"),
    }
}

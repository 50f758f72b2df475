//! Listing and cancelling the batch jobs of campaigns, by the files of their launches.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agenda::Agenda;
use answers::LaunchState;
use launcher::{self, RecordedLaunch, RecordedState};
use schemars::JsonSchema;
use serde::Serialize;
use store::{LaunchOutcome, Lease, Lock, SpoolReader, Store, StoreError};
use vocabulary::CampaignProgress;
use wire::Record;

use crate::analysis::stored::{campaign_row_of_launch, parse_campaign_row, reported_natives};
use crate::history::read_history;
use crate::launch::RunningLaunch;
use crate::launch_state::name_launch_state;
use crate::{SearchPaths, Silent, TunerError, store_file};

/// The time that a colltune that follows a job may need to notice its cancellation.
const NOTICED_WITHIN: Duration = Duration::from_secs(60);

/// A launch that was submitted to a batch system.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct JobRow {
    /// The batch system's id of the job; one job may serve several launches.
    pub id: String,
    /// Name of the campaign, from the name of its store.
    pub campaign: String,
    /// The number of the launch.
    pub launch: u32,
    /// The state of the launch.
    #[serde(flatten)]
    pub state: LaunchState,
    /// The number of nodes requested.
    pub nodes: u32,
    /// The time of submission, in seconds since 1970.
    pub submitted: u64,
    /// Measurements made so far, each of one cell in one launch.
    pub measured: u64,
    /// The script.
    pub script: PathBuf,
    /// The file with the script's output.
    pub output: PathBuf,
}

/// The result of cancelling jobs.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Cancelled {
    /// Name of the campaign, from the name of its store.
    pub campaign: String,
    /// Ids of the jobs that were cancelled.
    #[serde(rename = "cancelled")]
    pub jobs: Vec<String>,
    /// The number of launches whose measurements were stored now.
    pub taken_in: usize,
    /// Measurements in the store, each of one cell in one launch; null without a store.
    pub done: Option<u64>,
    /// Measurements that the campaign asks for; null without a store.
    pub total: Option<u64>,
}

/// The launches in a folder `STORE.launches` that were submitted to a batch system, by number. The batch system's
/// commands are searched for on `path`.
///
/// # Errors
/// Files that cannot be read.
pub fn list_jobs(launches: &Path, path: &OsStr) -> Result<Vec<JobRow>, TunerError> {
    let campaign = campaign_name(launches);
    let recorded = launcher::list_recorded_launches(launches, path)?;
    let row = |recorded_launch: RecordedLaunch| JobRow {
        id: recorded_launch.submission.id,
        campaign: campaign.clone(),
        launch: recorded_launch.launch,
        state: name_launch_state(&recorded_launch.state),
        nodes: recorded_launch.submission.nodes,
        submitted: recorded_launch.submission.submitted,
        measured: count_complete_tasks(
            &launches.join(format!("{:04}.spool", recorded_launch.launch)),
        ),
        script: recorded_launch.submission.script,
        output: recorded_launch.submission.output,
    };
    let rows = recorded.into_iter().map(row);
    Ok(rows.collect())
}

/// Cancels the jobs of a folder `STORE.launches`, or `only` those with these ids, waits until they have ended, and adds
/// their measurements to the store. It is no error if there are no jobs.
///
/// # Errors
/// A batch system that does not answer; another colltune that keeps following the jobs; a store that cannot be written.
pub fn cancel_jobs(
    launches: &Path,
    only: Option<&[String]>,
    places: &SearchPaths,
) -> Result<Cancelled, TunerError> {
    let path = places.path.as_os_str();
    let jobs = launcher::cancel_recorded_jobs(launches, only, path)?;
    let mut cancelled = Cancelled {
        campaign: campaign_name(launches),
        jobs: jobs.into_iter().map(|job| job.id).collect(),
        taken_in: 0,
        done: None,
        total: None,
    };
    let place = store_file(&store_of_launches(launches), &places.homes);
    if !place.exists() {
        return Ok(cancelled);
    }
    let _locks = lock_store_and_launches(&place, launches)?;
    let mut store = Store::open(&place)?;
    let recorded = launcher::list_recorded_launches(launches, path)?;
    for plan in store.unfinished_launches()? {
        let job = recorded.iter().find(|job| job.launch == plan.launch);
        let Some(RecordedState::Ended(outcome)) = job.map(|job| &job.state) else {
            continue;
        };
        let mut silent = Silent;
        let mut taken =
            RunningLaunch::new(&plan, &mut store, &mut silent, CampaignProgress::default());
        let drained = taken.store_new_records();
        let ended = match (drained, taken.finish, outcome) {
            (Err(error), _, _) => LaunchOutcome::Died {
                message: error.to_string(),
            },
            (Ok(()), Some(finish), _) => finish.into(),
            (Ok(()), None, launcher::Outcome::Ended(_) | launcher::Outcome::Killed) => {
                LaunchOutcome::Died {
                    message: "its job was cancelled or ended by the batch system".to_owned(),
                }
            }
            // A candidate may be the cause, which `measure` finds out.
            (Ok(()), None, _) => continue,
        };
        store.end_launch(plan.launch, &ended)?;
        cancelled.taken_in += 1;
    }
    let progress = progress_of_last_campaign(&store)?;
    cancelled.done = progress.map(|progress| progress.done);
    cancelled.total = progress.map(|progress| progress.total);
    Ok(cancelled)
}

/// Locks the store and the launches, after waiting for a colltune that follows the jobs to notice their end.
fn lock_store_and_launches(store: &Path, launches: &Path) -> Result<(Lock, Lease), TunerError> {
    let end = Instant::now() + NOTICED_WITHIN;
    loop {
        let held = Lock::acquire(store).and_then(|lock| Ok((lock, Lease::acquire(launches)?)));
        match held {
            Err(StoreError::Locked { .. }) if Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(200));
            }
            other => return Ok(other?),
        }
    }
}

/// The progress of the campaign that was launched last.
fn progress_of_last_campaign(store: &Store) -> Result<Option<CampaignProgress>, TunerError> {
    let Some(last) = store.launches()?.pop() else {
        return Ok(None);
    };
    let row = campaign_row_of_launch(store, Some(&last))?;
    let Some(campaign) = row.as_ref().map(parse_campaign_row).transpose()?.flatten() else {
        return Ok(None);
    };
    let environments = store.environments(&last.library)?;
    let natives = reported_natives(&environments);
    let history = read_history(Some(store), &last.library, &campaign)?;
    let agenda = Agenda::new(&campaign, &history, &last.library, natives)?;
    Ok(Some(agenda.count_progress()))
}

/// The number of complete tasks in a spool, which may be growing or damaged at its end.
fn count_complete_tasks(spool: &Path) -> u64 {
    let mut reader = SpoolReader::new(spool);
    let mut done = 0;
    while let Ok(Some(record)) = reader.next_record() {
        done += u64::from(matches!(record, Record::Done(_)));
    }
    done
}

fn store_of_launches(launches: &Path) -> PathBuf {
    launches.with_extension("")
}

fn campaign_name(launches: &Path) -> String {
    let store = store_of_launches(launches);
    let name = store.file_stem().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

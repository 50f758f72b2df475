//! The jobs of campaigns, from the files of their launches.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use launcher::{self, Recorded, RecordedState, Submission};
use store::{LaunchOutcome, Lease, Lock, SpoolReader, Store, StoreError};
use wire::Record;

use crate::agenda::Coverage;
use crate::analysis::stored::campaign_of;
use crate::launch::Launch;
use crate::{Agenda, CampaignProgress, SearchPaths, Silent, TunerError, store_file};

/// How long a colltune that follows a job may take to notice that it was cancelled.
const NOTICED_WITHIN: Duration = Duration::from_secs(60);

/// A launch that was given to a batch system.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRow {
    /// The name of its campaign, by the name of its store.
    pub campaign: String,
    /// The launch, its job, and where it stands.
    pub job: Recorded,
    /// Measurements in its spool: of one cell in one launch each.
    pub measured: u64,
}

/// What came of cancelling jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct Cancelled {
    /// The campaign, by the name of its store.
    pub campaign: String,
    /// The jobs that were cancelled, each once.
    pub jobs: Vec<Submission>,
    /// Launches whose measurements were taken into the store now.
    pub taken_in: usize,
    /// What the campaign has and asks for; `None` if that cannot be told, as where there is no store.
    pub progress: Option<CampaignProgress>,
}

/// The launches of a folder `STORE.launches` that were given to a batch system, by number. Its commands are
/// looked for on `path`.
///
/// # Errors
/// Files that cannot be read.
pub fn jobs(launches: &Path, path: &OsStr) -> Result<Vec<JobRow>, TunerError> {
    let campaign = campaign_name(launches);
    let recorded = launcher::recorded(launches, path)?;
    let rows = recorded.into_iter().map(|job| JobRow {
        campaign: campaign.clone(),
        measured: measured(&launches.join(format!("{:04}.spool", job.launch))),
        job,
    });
    Ok(rows.collect())
}

/// Ends the jobs of a folder `STORE.launches`, or `only` those with these ids: cancels them, waits until they
/// are gone, and takes in what they have measured. Where there are none that is all right.
///
/// # Errors
/// A batch system that does not answer; a colltune that goes on following; a store that cannot be written.
pub fn cancel(
    launches: &Path,
    only: Option<&[String]>,
    places: &SearchPaths,
) -> Result<Cancelled, TunerError> {
    let path = places.path.as_os_str();
    let jobs = launcher::cancel(launches, only, path)?;
    let mut cancelled = Cancelled {
        campaign: campaign_name(launches),
        jobs,
        taken_in: 0,
        progress: None,
    };
    let place = store_file(&store_of(launches), &places.homes);
    if !place.exists() {
        return Ok(cancelled);
    }
    let _locks = lock(&place, launches)?;
    let mut store = Store::open(&place)?;
    let recorded = launcher::recorded(launches, path)?;
    for plan in store.unfinished_launches()? {
        let job = recorded.iter().find(|job| job.launch == plan.launch);
        let Some(RecordedState::Ended(outcome)) = job.map(|job| &job.state) else {
            continue;
        };
        let mut silent = Silent;
        let mut taken = Launch::new(&plan, &mut store, &mut silent, CampaignProgress::default());
        let drained = taken.drain();
        let ended = match (drained, taken.finish(), outcome) {
            (Err(error), _, _) => LaunchOutcome::Died {
                message: error.to_string(),
            },
            (Ok(()), Some(finish), _) => finish.into(),
            (Ok(()), None, launcher::Outcome::Ended(_) | launcher::Outcome::Killed) => {
                LaunchOutcome::Died {
                    message: "its job was cancelled or ended by the batch system".to_owned(),
                }
            }
            // A candidate may be to blame: `measure` judges.
            (Ok(()), None, _) => continue,
        };
        store.end_launch(plan.launch, &ended)?;
        cancelled.taken_in += 1;
    }
    cancelled.progress = progress(&store)?;
    Ok(cancelled)
}

/// Locks the store and the launches, once a colltune that follows the jobs has noticed that they are gone.
fn lock(store: &Path, launches: &Path) -> Result<(Lock, Lease), TunerError> {
    let end = Instant::now() + NOTICED_WITHIN;
    loop {
        let held = Lock::acquire(store).and_then(|lock| Ok((lock, Lease::acquire(launches)?)));
        match held {
            Err(StoreError::Locked { .. }) if Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(200));
            }
            held => return Ok(held?),
        }
    }
}

/// How far the campaign is that was launched last.
fn progress(store: &Store) -> Result<Option<CampaignProgress>, TunerError> {
    let Some(last) = store.launches()?.pop() else {
        return Ok(None);
    };
    let mut rows = store.campaigns()?.into_iter();
    let row = rows.find(|row| row.digest == last.campaign);
    let Some(campaign) = row.as_ref().map(campaign_of).transpose()?.flatten() else {
        return Ok(None);
    };
    let environments = store.environments(&last.library)?;
    let start = environments.last().map(|(_, start)| start);
    let natives = start.map_or(&[][..], |start| &start.environment.natives);
    let agenda = Agenda::new(&campaign, Some(store), &last.library, natives)?;
    let stock = Coverage::of(store, &last.library, agenda.pattern)?;
    Ok(Some(agenda.progress(&stock)))
}

/// Complete tasks in a spool; it may be growing, or have damage behind them.
fn measured(spool: &Path) -> u64 {
    let mut reader = SpoolReader::new(spool);
    let mut done = 0;
    while let Ok(Some(record)) = reader.next_record() {
        done += u64::from(matches!(record, Record::Done(_)));
    }
    done
}

fn store_of(launches: &Path) -> PathBuf {
    launches.with_extension("")
}

fn campaign_name(launches: &Path) -> String {
    let store = store_of(launches);
    let name = store.file_stem().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

//! One launch of the driver, from its plan to its last record.
//!
//! A launch that continues without the command is not ended in the store; `measure/recover.rs` resumes it.

mod follow;
mod judge;
mod parent_alive;
mod start;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use answers::TuningEvent;
use launcher::{BatchEnd, Job, JobState, LaunchError, Running};
use store::{SpoolReader, Store};
use vocabulary::{CampaignProgress, Candidate, CommShape, Subject};
use wire::{FailureKind, Finish, LaunchStart, Plan, PlannedWork, Record};

use self::parent_alive::ParentAliveLock;
use crate::node_request::NodeRequest;
use crate::{MeasurementContext, Observer, TunerError, write_text};

/// The time that a launch may take beyond its deadline, for its start, the current task and its end.
const GRACE_SECONDS: f64 = 120.0;

/// Whether the command waits for a launch, and what an interrupt does to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnInterrupt {
    /// The command waits, and an interrupt ends the launch.
    Own,
    /// The command waits, and an interrupt leaves a launch that can continue without it running.
    Follow,
    /// The command does not wait.
    Submit,
}

/// What the command knows of a launch when it stops following it.
#[derive(Debug)]
pub(crate) enum FollowedLaunch {
    /// The launch has ended. An error ended it, or prevents that its end is judged.
    Ended(Result<LaunchEnd, TunerError>),
    /// The job continues without the command.
    GoesOn { id: String, standing: JobState },
    /// The job may continue, but this error ends the command.
    LostSight(TunerError),
}

/// The end of a launch.
#[derive(Debug)]
pub(crate) enum LaunchEnd {
    /// The launch came to an orderly end.
    Finished(Finish),
    /// The launch came to an early end: by a candidate, whose failure is stored, by a signal from outside, or by the
    /// batch system, whose reason is `end`.
    Died {
        end: Option<BatchEnd>,
        message: String,
    },
}

/// A running launch.
pub(crate) struct RunningLaunch<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) store: &'a mut Store,
    pub(crate) observer: &'a mut dyn Observer,
    spool: SpoolReader,
    /// The progress of the whole campaign.
    progress: CampaignProgress,
    /// The nodes and ranks that the launcher was asked for; `None` if an earlier command asked.
    asked: Option<CommShape>,
    /// The first record, once the driver has written it.
    start: Option<LaunchStart>,
    /// Whether the campaign leaves shared memory out where ranks have none.
    may_lack_shared_memory: bool,
    /// The task and the candidate of the current turn.
    in_flight: Option<(u32, u32)>,
    /// The reason for an orderly end.
    pub(crate) finish: Option<Finish>,
    /// The candidates in flight when earlier launches ended for an unknown reason.
    pub(crate) suspects: BTreeSet<(Subject, Candidate)>,
    /// Whether the launch has a result, which may be the failure of a candidate.
    pub(crate) has_result: bool,
    /// The environment variables, with their values, that force the algorithms of a launch that is part of another one;
    /// empty for any other launch.
    pub(crate) forcing: Vec<(String, String)>,
}

/// A file of a launch, beside the store that the campaign names: `NAME.db.launches/0001.plan.json` etc.
pub(crate) fn launch_file(store: &Path, number: u32, kind: &str) -> PathBuf {
    launches_folder(store).join(format!("{number:04}.{kind}"))
}

/// The folder of these files.
pub(crate) fn launches_folder(store: &Path) -> PathBuf {
    let mut folder = store.as_os_str().to_owned();
    folder.push(".launches");
    PathBuf::from(folder)
}

/// The job of a launch.
pub(crate) fn job_of_launch(
    at: &MeasurementContext,
    number: u32,
    nodes: NodeRequest,
    timeout: Option<Duration>,
) -> Result<Job, TunerError> {
    let launch_path = |kind: &str| {
        let path = launch_file(&at.campaign.output.store, number, kind);
        // The working directory may differ on another node.
        if at.launcher.has_outliving_jobs() {
            absolute_utf8_path(&path)
        } else {
            Ok(path)
        }
    };
    Ok(Job {
        driver: at.driver.clone().unwrap_or_default(),
        plan: launch_path("plan.json")?,
        ranks: nodes.shape.ranks(),
        ppn: nodes.shape.ppn,
        log: launch_path("log")?,
        environment: at.environment.clone(),
        timeout,
        begin_in: nodes.begin_in,
        keep: nodes.keep,
    })
}

/// A job whose launch is followed.
struct StartedJob {
    /// The driver ends when this lock is released.
    _lock: Option<ParentAliveLock>,
    running: Box<dyn Running>,
}

impl<'a> RunningLaunch<'a> {
    pub(crate) fn new(
        plan: &'a Plan,
        store: &'a mut Store,
        observer: &'a mut dyn Observer,
        progress: CampaignProgress,
    ) -> Self {
        Self {
            plan,
            store,
            observer,
            spool: SpoolReader::new(&plan.spool),
            progress,
            asked: None,
            start: None,
            may_lack_shared_memory: false,
            in_flight: None,
            finish: None,
            suspects: BTreeSet::new(),
            has_result: false,
            forcing: Vec::new(),
        }
    }

    /// Starts the driver, and follows it as `watch` says.
    pub(crate) fn start_and_follow(
        &mut self,
        at: &MeasurementContext,
        nodes: NodeRequest,
        watch: OnInterrupt,
        stop: &AtomicBool,
    ) -> FollowedLaunch {
        let mut started = match self.start_job(at, nodes, stop) {
            Ok(started) => started,
            Err(error) => return FollowedLaunch::Ended(Err(error)),
        };
        self.follow_or_look(at, started.running.as_mut(), watch, stop)
    }

    /// Writes the plan and starts the driver.
    fn start_job(
        &mut self,
        at: &MeasurementContext,
        nodes: NodeRequest,
        stop: &AtomicBool,
    ) -> Result<StartedJob, TunerError> {
        self.asked = Some(nodes.shape);
        self.may_lack_shared_memory = at.campaign.has_default_transports();
        let job = self.job_with_timeout(at, nodes)?;
        let text = serde_json::to_string(self.plan).map_err(|error| TunerError::File {
            action: "write",
            path: job.plan.clone(),
            source: error.into(),
        })?;
        write_text(&job.plan, &text)?;
        let lock = match &self.plan.parent_lock {
            Some(lock) => Some(ParentAliveLock::hold(lock)?),
            None => None,
        };
        let running = match at.launcher.start_unless(&job, stop) {
            Err(LaunchError::Interrupted) => return Err(TunerError::Interrupted),
            started => started?,
        };
        Ok(StartedJob {
            _lock: lock,
            running,
        })
    }

    /// Takes up a launch that an earlier process started; `None` if its job cannot be found.
    pub(crate) fn resume(
        &mut self,
        at: &MeasurementContext,
        nodes: NodeRequest,
        watch: OnInterrupt,
        stop: &AtomicBool,
    ) -> Option<FollowedLaunch> {
        self.may_lack_shared_memory = at.campaign.has_default_transports();
        let job = match self.job_with_timeout(at, nodes) {
            Ok(job) => job,
            Err(error) => return Some(FollowedLaunch::Ended(Err(error))),
        };
        match at.launcher.resume(&job) {
            Ok(Some(mut running)) => Some(self.follow_or_look(at, running.as_mut(), watch, stop)),
            Ok(None) => None,
            // Until its end is known, the launch may continue.
            Err(error) => Some(FollowedLaunch::LostSight(error.into())),
        }
    }

    fn job_with_timeout(
        &self,
        at: &MeasurementContext,
        nodes: NodeRequest,
    ) -> Result<Job, TunerError> {
        let deadline = self.plan.deadline_seconds.unwrap_or(f64::from(u32::MAX));
        let seconds = deadline + GRACE_SECONDS + self.plan.watchdog_seconds;
        let timeout = Some(Duration::from_secs_f64(seconds));
        let mut job = job_of_launch(at, self.plan.launch, nodes, timeout)?;
        if !self.forcing.is_empty() {
            let forcing = self.forcing.iter();
            job.environment
                .extend(forcing.map(|(name, value)| (name.into(), value.into())));
            job.plan = self.plan.spool.with_extension("plan.json");
            job.log = self.plan.spool.with_extension("log");
        }
        Ok(job)
    }

    /// Stores the records that were added to the spool since the last call.
    pub(crate) fn store_new_records(&mut self) -> Result<(), TunerError> {
        while let Some(record) = self.spool.next_record()? {
            self.store_record(&record)?;
        }
        Ok(())
    }

    pub(crate) fn store_record(&mut self, record: &Record) -> Result<(), TunerError> {
        // Nothing is stored of a launch that started in another way than it was asked to.
        if let Record::Started(start) = record {
            self.check_start(start)?;
            self.start = Some(start.clone());
        }
        // The launch's warning says it once.
        if self.is_for_lack_of_shared_memory(record) {
            self.in_flight = None;
            return Ok(());
        }
        let new = self.store.ingest_record(self.plan, record)?;
        self.has_result |= matches!(record, Record::Done(_) | Record::Failed { .. });
        match record {
            Record::Started(start) => {
                let what = &start.environment.set_aside;
                if !what.is_empty() {
                    let what = what.clone();
                    self.observer.notice(&TuningEvent::SetAside { what });
                }
            }
            Record::Trying { task, candidate } => self.in_flight = Some((*task, *candidate)),
            Record::Failed {
                task,
                candidate: candidate_index,
                kind,
                message,
            } => {
                self.in_flight = None;
                let entrant = self.find_entrant(*task, *candidate_index);
                if let Some((subject, candidate)) = entrant.filter(|_| new) {
                    self.observer.notice(&TuningEvent::Failed {
                        subject: subject.to_string(),
                        candidate: candidate.to_string(),
                        kind: kind.name().to_owned(),
                        message: message.clone(),
                    });
                }
            }
            Record::Done(done) => {
                self.in_flight = None;
                // All candidates of the task have had their turns, so none of them is a suspect any longer. Others of the
                // same cell may be measured in launches of their own.
                let entrants = self.list_entrants(done.task);
                self.suspects.retain(|suspect| !entrants.contains(suspect));
                // The whole launch has counted the cell.
                self.progress.done += u64::from(new && self.forcing.is_empty());
                self.observer.notice(&TuningEvent::Stored {
                    progress: self.progress,
                });
            }
            Record::Finished { reason } => self.finish = Some(*reason),
        }
        Ok(())
    }

    /// Whether a record is the failure of a candidate or an experiment because ranks have no memory in common, which the
    /// campaign then leaves out.
    fn is_for_lack_of_shared_memory(&self, record: &Record) -> bool {
        let start = self.start.as_ref().map(|start| &start.environment);
        let is_lacking = start.is_some_and(|environment| environment.shared_memory == Some(false));
        let Record::Failed {
            task,
            candidate,
            kind: FailureKind::Unsupported,
            ..
        } = record
        else {
            return false;
        };
        let through = match self.find_entrant(*task, *candidate) {
            Some((Subject::Experiment(experiment), _)) => experiment.through,
            Some((Subject::Cell(_), candidate)) => candidate.parameters().through,
            None => return false,
        };
        self.may_lack_shared_memory && is_lacking && !through.is_mpi()
    }

    fn find_entrant(&self, task: u32, candidate: u32) -> Option<(Subject, Candidate)> {
        let mut entrants = self.list_entrants(task).into_iter();
        entrants.nth(candidate as usize)
    }

    /// What a task measures, in the order of its candidates; an experiment has one. Empty if there is no such task.
    fn list_entrants(&self, task: u32) -> Vec<(Subject, Candidate)> {
        let planned = self.plan.tasks.iter().find(|known| known.id == task);
        match planned.map(|known| &known.work) {
            None => Vec::new(),
            Some(PlannedWork::Experiment(experiment)) => {
                vec![(Subject::Experiment(*experiment), Candidate::Default)]
            }
            Some(PlannedWork::Compare { cell, candidates }) => {
                let subject = Subject::Cell(*cell);
                let entrants = candidates.iter().cloned();
                entrants.map(|candidate| (subject, candidate)).collect()
            }
        }
    }
}

/// The absolute path as plans and scripts name it.
///
/// # Errors
/// [`TunerError::File`] if the path is not UTF-8.
pub(crate) fn absolute_utf8_path(path: &Path) -> Result<PathBuf, TunerError> {
    let failed = |unusable: &Path, source| TunerError::File {
        action: "use",
        path: unusable.to_owned(),
        source,
    };
    let whole = std::path::absolute(path).map_err(|source| failed(path, source))?;
    match whole.to_str() {
        Some(_) => Ok(whole),
        None => {
            let text = "the path is not UTF-8, as the plans of launches require: measure in another folder";
            Err(failed(
                &whole,
                io::Error::new(io::ErrorKind::InvalidInput, text),
            ))
        }
    }
}

//! Jobs of a batch system.
//!
//! A job's script serves several launches, one after the other, as long as its wall time allows: it reads orders from a
//! folder and writes their outcomes there (`batch/order.rs`). The command that gives the orders may end and be started
//! again, on another host too: files record the outcomes, and the batch system is asked only for the rest.
//!
//! # How it survives interruptions
//!
//! - The files are authoritative. The scheduler is asked ([`crate::BatchSystem`]) whether a job waits, and why a job
//!   ended that has not recorded it itself; it may be unreachable for ten minutes. A command that sees a job's end
//!   first looks for the files of its launches once more.
//! - A job is known by its id and by its name, which is made from the folder's path. It is found again by name if the
//!   command ended between submitting the job and recording it in `NNNN.job.json`, and an id that a restarted
//!   controller gave twice is noticed.
//! - What a submission prints is only a hint: it counts when the batch system knows the job by that id or by its name.
//!   A job that may exist and is not known is cancelled by its name, never by an id that was not seen with it, and
//!   measuring ends: each further submission might be another job.
//!
//! The script is made from a template (`batch/script.rs`); jobs/README.md describes the files of a job for its users.

mod expression;
mod lines;
pub(crate) mod order;
mod place;
mod run;
mod script;

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use self::order::{JobFolder, Stage};
use self::place::LaunchFiles;
pub use self::place::is_variable as is_shell_variable;
use self::run::BatchRun;
pub(super) use self::run::cancel_and_wait;
use self::script::{Purpose, WallTimeDivision};
pub use self::script::{check_syntax as check_template, takes_orders};
use super::batch_system::{JobId, JobRequest, JobStatus, Receipt};
use super::commands::Commands;
use super::{Installation, Job, LaunchError, Launcher, Running, Submission};
use crate::{BatchOptions, BatchSystem};

/// The time that a job waits for another launch if more are expected, and the time if none is expected.
const IDLE: Duration = Duration::from_secs(60);
const IDLE_ALONE: Duration = Duration::from_secs(5);
/// The time for which a submission is retried while the batch system does not answer.
const SUBMIT_PATIENCE: Duration = Duration::from_secs(60);
const SUBMIT_PAUSE: Duration = Duration::from_secs(2);
/// The time after a submission within which its job must be known to the batch system. Sites cache what users ask.
const KNOWN_WITHIN: Duration = Duration::from_secs(30);
/// The interval at which `stop` is checked during pauses.
const STOP_PAUSE: Duration = Duration::from_millis(20);

/// Starts programs with one MPI library in jobs of a batch system.
///
/// One allocation serves several launches, one after the other, as long as its wall time allows.
pub struct BatchLauncher {
    installation: Installation,
    options: BatchOptions,
    /// The campaign's name, which is part of the jobs' names.
    name: String,
    commands: Commands<'static>,
    /// The time after a submission within which its job must be known.
    known_within: Duration,
    open: Mutex<Option<Allocation>>,
}

/// A job that may serve further launches.
struct Allocation {
    submission: Submission,
    folder: JobFolder,
    /// One of the launches that it serves.
    job: Job,
}

impl Allocation {
    /// Whether the job can serve a launch: all launches of a job have these properties in common.
    fn can_serve(&self, job: &Job) -> bool {
        (self.job.ranks, self.job.ppn) == (job.ranks, job.ppn)
            && self.job.driver == job.driver
            && self.job.environment == job.environment
    }
}

impl BatchLauncher {
    /// A launcher for the library of this installation, which has the same files on all nodes. The batch system's
    /// commands are searched for in `path`, the value of `$PATH`.
    pub fn new(
        installation: Installation,
        options: BatchOptions,
        name: String,
        path: OsString,
    ) -> Self {
        Self {
            commands: Commands::on_path(path),
            installation,
            options,
            name,
            known_within: KNOWN_WITHIN,
            open: Mutex::default(),
        }
    }

    /// The same, with another time than 30 s after a submission within which the batch system must know its job.
    #[must_use]
    pub fn knowing_within(self, time: Duration) -> Self {
        Self {
            known_within: time,
            ..self
        }
    }

    fn script_for_folder(
        &self,
        job: &Job,
        files: &LaunchFiles,
        folder: &JobFolder,
    ) -> Result<String, LaunchError> {
        let purpose = Purpose {
            campaign: &self.name,
            nodes: job.shape().nodes,
            ppn: job.ppn,
            driver: &files.driver,
            folder,
            idle: if is_kept(job) { IDLE } else { IDLE_ALONE },
            launch: lines::launch_commands(&self.installation, &self.options, job, folder)?,
        };
        script::render_from_template(&self.options, &purpose)
    }

    /// Makes an existing job carry out a launch; `None` if no job can.
    fn join_open_allocation(
        &self,
        job: &Job,
        files: &LaunchFiles,
    ) -> Result<Option<BatchRun>, LaunchError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(allocation) = open.take_if(|open| is_kept(job) && open.can_serve(job)) else {
            return Ok(None);
        };
        let least = WallTimeDivision::from_wall_time(self.options.job.wall_time).least_for_launch();
        if !allocation.folder.has_time(least) || !self.is_alive(&allocation.submission) {
            allocation.folder.request_end()?;
            return Ok(None);
        }
        files.record_submission(&allocation.submission)?;
        files.order_launch(&allocation.folder, job.timeout)?;
        // If the job closed at this moment, it may or may not have taken the order; the stage shows which.
        let stage = allocation.folder.read_stage(&files.number)?;
        if matches!(stage, Stage::Waiting { closed: Some(_) })
            && allocation.folder.withdraw_order(&files.number)?
        {
            return Ok(None);
        }
        let run = self.follow_job(job, files, &allocation.submission);
        *open = Some(allocation);
        Ok(Some(run))
    }

    /// Whether a job is not known to have ended.
    fn is_alive(&self, submission: &Submission) -> bool {
        let id = job_id(submission);
        let status = self.options.system.query_status(&self.commands, &id);
        !matches!(status, Ok(JobStatus::Ended { .. }))
    }

    /// Submits a job that begins with a launch.
    fn submit_job(
        &self,
        job: &Job,
        files: &LaunchFiles,
        stop: &AtomicBool,
    ) -> Result<BatchRun, LaunchError> {
        let folder = JobFolder::create_next(&files.launches, &files.number)?;
        let submission = self
            .write_and_submit(job, files, &folder, stop)
            .inspect_err(|_| {
                // The folder is unused.
                let _ = std::fs::remove_dir_all(folder.path());
            })?;
        files.record_submission(&submission)?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(older) = open.take() {
            older.folder.request_end()?;
        }
        let run = self.follow_job(job, files, &submission).known_to_system();
        *open = is_kept(job).then(|| Allocation {
            submission,
            folder,
            job: job.clone(),
        });
        Ok(run)
    }

    /// Writes script and order and submits the script to the batch system.
    fn write_and_submit(
        &self,
        job: &Job,
        files: &LaunchFiles,
        folder: &JobFolder,
        stop: &AtomicBool,
    ) -> Result<Submission, LaunchError> {
        order::write_atomically(
            &folder.script_path(),
            &self.script_for_folder(job, files, folder)?,
        )?;
        files.order_launch(folder, job.timeout)?;
        let name = files.job_name(self.options.system, &self.name, folder);
        let request = JobRequest {
            name: &name,
            script: &folder.script_path(),
            output: &folder.output_path(),
            begin_in: job.begin_in.unwrap_or_default(),
        };
        let id = self.hand_over(&request, stop)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let submitted = now.map_or(0, |now| now.as_secs());
        Ok(self.submission_record(job, folder, id, submitted))
    }

    fn submission_record(
        &self,
        job: &Job,
        folder: &JobFolder,
        id: JobId,
        submitted: u64,
    ) -> Submission {
        Submission {
            system: self.options.system.name().to_owned(),
            id: id.id,
            cluster: id.cluster,
            name: id.name,
            submitted,
            nodes: job.shape().nodes,
            script: folder.script_path(),
            output: folder.output_path(),
            allocation: folder.path().to_owned(),
        }
    }

    /// Submits a script once, even if the batch system is briefly unreachable, its reply is lost or has no id. A job
    /// that may exist but is not found is cancelled by its name, and finds nothing to do if that has no effect.
    fn hand_over(&self, request: &JobRequest<'_>, stop: &AtomicBool) -> Result<JobId, LaunchError> {
        let (system, commands) = (self.options.system, &self.commands.stopped_by(stop));
        self.check_request(request, stop)?;
        let known = self
            .submit_once(request, stop)
            .and_then(|receipt| self.wait_until_known(request, receipt, stop));
        known.inspect_err(|error| {
            // A command may fail after its script was submitted.
            if !matches!(error, LaunchError::Unknown { .. }) {
                let _ = system.cancel_jobs_named(commands, request.name, None);
            }
        })
    }

    /// Refuses an impossible request, which would wait in the queue forever.
    fn check_request(
        &self,
        request: &JobRequest<'_>,
        stop: &AtomicBool,
    ) -> Result<(), LaunchError> {
        let deadline = Instant::now() + SUBMIT_PATIENCE;
        let commands = &self.commands.stopped_by(stop);
        loop {
            match self.options.system.check(commands, request) {
                Err(LaunchError::Silent { .. }) if Instant::now() < deadline => {
                    pause_unless_stopped(stop)?
                }
                answer => return answer,
            }
        }
    }

    /// Submits a script, again only if the batch system was not reached and knows no job of the name.
    fn submit_once(
        &self,
        request: &JobRequest<'_>,
        stop: &AtomicBool,
    ) -> Result<Receipt, LaunchError> {
        let deadline = Instant::now() + SUBMIT_PATIENCE;
        let (system, commands) = (self.options.system, &self.commands.stopped_by(stop));
        let mut answer = system.submit_script(commands, request);
        while matches!(answer, Err(LaunchError::Silent { .. })) && Instant::now() < deadline {
            pause_unless_stopped(stop)?;
            answer = match system.find_job_named(commands, request.name) {
                Ok(Some(id)) => Ok(Receipt::Id(id)),
                Ok(None) => system.submit_script(commands, request),
                Err(error) => Err(error),
            };
        }
        answer
    }

    /// Waits until the batch system knows the submitted job, by the printed id or by its name.
    ///
    /// # Errors
    /// [`LaunchError::Unknown`] if it does not know the job in time: jobs of this name were cancelled.
    fn wait_until_known(
        &self,
        request: &JobRequest<'_>,
        receipt: Receipt,
        stop: &AtomicBool,
    ) -> Result<JobId, LaunchError> {
        let (system, commands) = (self.options.system, &self.commands.stopped_by(stop));
        let deadline = Instant::now() + self.known_within;
        loop {
            if let Some(id) = find_submitted_job(system, commands, request.name, &receipt)? {
                return Ok(id);
            }
            if Instant::now() >= deadline {
                break;
            }
            pause_unless_stopped(stop)?;
        }
        let (answer, cluster) = match receipt {
            Receipt::Id(id) => (id.id, id.cluster),
            Receipt::Unreadable(text) => (files::quoted(&text, files::MOST_QUOTED), None),
        };
        let cancelled = system.cancel_jobs_named(commands, request.name, cluster.as_deref());
        Err(LaunchError::Unknown {
            program: system.words().submit,
            name: request.name.to_owned(),
            answer,
            seconds: self.known_within.as_secs(),
            problem: cancelled.err().map(Box::new),
        })
    }

    fn follow_job(&self, job: &Job, files: &LaunchFiles, submission: &Submission) -> BatchRun {
        let (system, commands) = (self.options.system, self.commands.clone());
        BatchRun::follow(system, commands, submission, files, job.timeout)
    }
}

impl Launcher for BatchLauncher {
    fn start(&self, job: &Job) -> Result<Box<dyn Running>, LaunchError> {
        self.start_unless(job, &AtomicBool::new(false))
    }

    fn start_unless(&self, job: &Job, stop: &AtomicBool) -> Result<Box<dyn Running>, LaunchError> {
        let files = LaunchFiles::for_job(job)?;
        let run = match self.join_open_allocation(job, &files)? {
            Some(run) => run,
            None => self.submit_job(job, &files, stop)?,
        };
        Ok(Box::new(run))
    }

    fn has_outliving_jobs(&self) -> bool {
        true
    }

    fn resume(&self, job: &Job) -> Result<Option<Box<dyn Running>>, LaunchError> {
        let files = LaunchFiles::for_job(job)?;
        let submission = match files.read_submission()? {
            Some(submission) => submission,
            None => match self.find_lost_submission(job, &files)? {
                Some(submission) => submission,
                None => return Ok(None),
            },
        };
        let run = self.follow_job(job, &files, &submission);
        let folder = JobFolder::at_path(submission.allocation.clone());
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if is_kept(job) && folder.has_time(Duration::ZERO) {
            *open = Some(Allocation {
                submission,
                folder,
                job: job.clone(),
            });
        }
        Ok(Some(Box::new(run)))
    }

    fn render_script(&self, job: &Job) -> Result<Option<String>, LaunchError> {
        let files = LaunchFiles::for_job(job)?;
        self.script_for_folder(job, &files, &files.first_folder())
            .map(Some)
    }

    fn close(&self) -> Result<(), LaunchError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.take()
            .map_or(Ok(()), |allocation| allocation.folder.request_end())
    }
}

impl BatchLauncher {
    /// The job of a process that ended before it could record the submission. One that may exist but is not found is
    /// cancelled by its name.
    fn find_lost_submission(
        &self,
        job: &Job,
        files: &LaunchFiles,
    ) -> Result<Option<Submission>, LaunchError> {
        let Some(folder) = files.last_folder() else {
            return Ok(None);
        };
        let system = self.options.system;
        let name = files.job_name(system, &self.name, &folder);
        let submitted = place::modification_time(&folder.script_path());
        let known_from = UNIX_EPOCH + Duration::from_secs(submitted) + self.known_within;
        loop {
            if let Some(id) = system.find_job_named(&self.commands, &name)? {
                let submission = self.submission_record(job, &folder, id, submitted);
                files.record_submission(&submission)?;
                return Ok(Some(submission));
            }
            if SystemTime::now() >= known_from {
                break;
            }
            thread::sleep(SUBMIT_PAUSE);
        }
        // It has no effect if nothing was submitted.
        let _ = system.cancel_jobs_named(&self.commands, &name, None);
        folder.withdraw_order(&files.number)?;
        Ok(None)
    }
}

/// The submitted job as the batch system knows it: by the printed id or else by its name. `None` if it knows neither, or
/// does not answer about a job without an id.
fn find_submitted_job(
    system: &dyn BatchSystem,
    commands: &Commands,
    name: &str,
    receipt: &Receipt,
) -> Result<Option<JobId>, LaunchError> {
    if let Receipt::Id(id) = receipt {
        match system.query_statuses(commands, std::slice::from_ref(id)) {
            Ok(known) if known.contains_key(id) => return Ok(Some(id.clone())),
            Ok(_) => {}
            // Nothing contradicts the printed id.
            Err(LaunchError::Silent { .. }) => return Ok(Some(id.clone())),
            Err(error) => return Err(error),
        }
    }
    match system.find_job_named(commands, name) {
        Err(LaunchError::Silent { .. }) => Ok(None),
        found => found,
    }
}

/// Waits before the batch system is asked again.
///
/// # Errors
/// [`LaunchError::Interrupted`] as soon as `stop` is set.
fn pause_unless_stopped(stop: &AtomicBool) -> Result<(), LaunchError> {
    let again = Instant::now() + SUBMIT_PAUSE;
    while Instant::now() < again {
        if stop.load(Ordering::Relaxed) {
            return Err(LaunchError::Interrupted);
        }
        thread::sleep(STOP_PAUSE);
    }
    Ok(())
}

pub(super) fn job_id(submission: &Submission) -> JobId {
    JobId {
        id: submission.id.clone(),
        cluster: submission.cluster.clone(),
        name: submission.name.clone(),
    }
}

/// Whether the batch system's job that serves this launch may serve others too.
fn is_kept(job: &Job) -> bool {
    job.keep && job.begin_in.is_none()
}

//! Following a launch until it ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use answers::TuningEvent;
use launcher::{Exit, JobState, Outcome, Running};
use store::{SpoolReader, StoreError};

use super::{FollowedLaunch, OnInterrupt, RunningLaunch};
use crate::{MeasurementContext, TunerError};

/// The time until a file written on another node is visible on this one.
const VISIBLE_WITHIN: Duration = Duration::from_secs(30);

/// Intervals and timeouts of following a launch.
struct FollowTiming {
    /// The time between two readings of the spool.
    period: Duration,
    /// The time that the driver may take to report its start, from the start of the job.
    start_timeout: Duration,
    /// The time that ranks may take to end after the last task.
    end_timeout: Duration,
}

/// For processes on this machine.
const HERE: FollowTiming = FollowTiming {
    period: Duration::from_millis(50),
    start_timeout: Duration::from_secs(90),
    end_timeout: Duration::from_secs(15),
};

/// For batch jobs, whose many ranks write to a network file system.
const ELSEWHERE: FollowTiming = FollowTiming {
    period: Duration::from_millis(200),
    start_timeout: Duration::from_secs(300),
    end_timeout: Duration::from_secs(120),
};

impl RunningLaunch<'_> {
    /// Follows a job, or looks at it once, as `watch` says.
    pub(super) fn follow_or_look(
        &mut self,
        at: &MeasurementContext,
        running: &mut dyn Running,
        watch: OnInterrupt,
        stop: &AtomicBool,
    ) -> FollowedLaunch {
        let outlives = at.launcher.has_outliving_jobs();
        let leaves = outlives && watch != OnInterrupt::Own;
        let exit = match watch {
            OnInterrupt::Submit if outlives => self.look_once(running),
            _ => self.follow_to_end(running, outlives, leaves, stop),
        };
        match exit {
            Ok(Some(exit)) => FollowedLaunch::Ended(self.judge_exit(exit)),
            Ok(None) => FollowedLaunch::GoesOn {
                id: running.id().unwrap_or("?").to_owned(),
                standing: running.last_known_state(),
            },
            // Until its end is known, the launch may continue.
            Err(error) if leaves && !ends_launch(&error) => FollowedLaunch::LostSight(error),
            Err(TunerError::Interrupted) => FollowedLaunch::Ended(Err(TunerError::Interrupted)),
            Err(error) => {
                let killed = running.kill().map_err(TunerError::from);
                FollowedLaunch::Ended(killed.and(Err(error)))
            }
        }
    }

    /// Stores the records so far; `None` if the job has not ended.
    fn look_once(&mut self, running: &mut dyn Running) -> Result<Option<Exit>, TunerError> {
        let exit = running.poll()?;
        self.store_new_records()?;
        Ok(exit)
    }

    /// Stores records until the job ends; `None` if this command is to stop and the job continues.
    fn follow_to_end(
        &mut self,
        running: &mut dyn Running,
        outlives: bool,
        leaves: bool,
        stop: &AtomicBool,
    ) -> Result<Option<Exit>, TunerError> {
        let timing = if outlives { ELSEWHERE } else { HERE };
        let mut told = None;
        let (mut up, mut finished): (Option<Instant>, Option<Instant>) = (None, None);
        loop {
            let standing = running.last_known_state();
            self.report_job_state(running.id(), &standing, &mut told);
            if stop.load(Ordering::Relaxed) {
                if !leaves {
                    running.kill()?;
                }
                self.store_new_records()?;
                return if leaves {
                    Ok(None)
                } else {
                    Err(TunerError::Interrupted)
                };
            }
            let exit = running.wait_timeout(timing.period)?;
            self.store_new_records()?;
            if let Some(exit) = exit {
                if outlives {
                    self.reread_spool(&exit)?;
                }
                // The signal that stops this command may have reached the launcher too.
                if stop.load(Ordering::Relaxed) && self.finish.is_none() && !outlives {
                    return Err(TunerError::Interrupted);
                }
                return Ok(Some(exit));
            }
            // MPI may hang during startup or after the last task, when no watchdog runs.
            if matches!(standing, JobState::Running { .. }) {
                up.get_or_insert_with(Instant::now);
            }
            if self.finish.is_some() {
                finished.get_or_insert_with(Instant::now);
            }
            let is_over = |since: Option<Instant>, timeout| {
                since.is_some_and(|since| since.elapsed() > timeout)
            };
            let never_started = !self.has_started() && is_over(up, timing.start_timeout);
            if never_started || is_over(finished, timing.end_timeout) {
                running.kill()?;
            }
        }
    }

    /// Reports the state of a batch job whenever it changes.
    fn report_job_state(
        &mut self,
        id: Option<&str>,
        standing: &JobState,
        told: &mut Option<JobState>,
    ) {
        let Some(id) = id.filter(|_| told.as_ref() != Some(standing)) else {
            return;
        };
        let number = self.plan.launch;
        match standing {
            JobState::Queued { reason, .. } => self.observer.notice(&TuningEvent::Queued {
                number,
                id: id.to_owned(),
                reason: reason.clone(),
            }),
            JobState::Running { nodes } => self.observer.notice(&TuningEvent::Running {
                number,
                id: id.to_owned(),
                nodes: nodes.clone(),
            }),
            JobState::Ended => {}
        }
        *told = Some(standing.clone());
    }

    /// Opens and reads the spool again, since an open file may show old content of a file written on another node.
    fn reread_spool(&mut self, exit: &Exit) -> Result<(), TunerError> {
        let end = Instant::now() + VISIBLE_WITHIN;
        loop {
            self.spool = SpoolReader::new(&self.plan.spool);
            self.store_new_records()?;
            let is_whole = self.finish.is_some() || exit.outcome != Outcome::Success;
            if is_whole || Instant::now() > end {
                return Ok(());
            }
            std::thread::sleep(ELSEWHERE.period);
        }
    }
}

/// Whether a launch is ended for this error: it did not start as asked, or its records are damaged.
fn ends_launch(error: &TunerError) -> bool {
    matches!(
        error,
        TunerError::OtherStart { .. }
            | TunerError::SeveralStarts { .. }
            | TunerError::Store(
                StoreError::Spool { .. }
                    | StoreError::OtherOrder { .. }
                    | StoreError::Unplanned { .. }
            )
    )
}

//! Waiting for a launch.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use launcher::{Exit, JobState, Outcome, Running};
use store::{SpoolReader, StoreError};

use super::{Ended, Launch, OnInterrupt};
use crate::{MeasurementContext, TunerError, TuningEvent};

/// How long what was written on another node may take to be seen on this one.
const VISIBLE_WITHIN: Duration = Duration::from_secs(30);

/// How a launch is looked after.
struct Pace {
    /// How often the spool is looked at.
    period: Duration,
    /// How long the driver may take to report that it is up, from when the job runs.
    start_patience: Duration,
    /// How long ranks may take to end when all is done.
    end_patience: Duration,
}

/// Where processes of this machine are watched.
const HERE: Pace = Pace {
    period: Duration::from_millis(50),
    start_patience: Duration::from_secs(90),
    end_patience: Duration::from_secs(15),
};

/// Where ranks are many, and their files come over a network.
const ELSEWHERE: Pace = Pace {
    period: Duration::from_millis(200),
    start_patience: Duration::from_secs(300),
    end_patience: Duration::from_secs(120),
};

impl Launch<'_> {
    /// Looks after a job as `watch` says.
    pub(super) fn attend(
        &mut self,
        at: &MeasurementContext,
        running: &mut dyn Running,
        watch: OnInterrupt,
        stop: &AtomicBool,
    ) -> Result<Ended, TunerError> {
        let outlives = at.launcher.outlives();
        let leaves = outlives && watch != OnInterrupt::Own;
        // The launch may go on as long as its end is not known.
        self.goes_on = leaves;
        let exit = match watch {
            OnInterrupt::Submit if outlives => self.look(running),
            _ => self.follow(running, outlives, leaves, stop),
        };
        match exit {
            Ok(Some(exit)) => {
                self.goes_on = false;
                self.judge(exit)
            }
            Ok(None) => Ok(Ended::GoesOn {
                id: running.id().unwrap_or("?").to_owned(),
                standing: running.standing(),
            }),
            Err(error) => {
                self.goes_on &= !is_damage(&error);
                if !self.goes_on && !matches!(error, TunerError::Interrupted) {
                    running.kill()?;
                }
                Err(error)
            }
        }
    }

    /// Stores what there is; `None` if there is more to come.
    fn look(&mut self, running: &mut dyn Running) -> Result<Option<Exit>, TunerError> {
        let exit = running.poll()?;
        self.drain()?;
        Ok(exit)
    }

    /// Stores what comes until the job ends; `None` if one is to stop and it `goes on`.
    fn follow(
        &mut self,
        running: &mut dyn Running,
        outlives: bool,
        leaves: bool,
        stop: &AtomicBool,
    ) -> Result<Option<Exit>, TunerError> {
        let pace = if outlives { ELSEWHERE } else { HERE };
        let mut told = None;
        let (mut up, mut finished): (Option<Instant>, Option<Instant>) = (None, None);
        loop {
            let standing = running.standing();
            self.tell(running.id(), &standing, &mut told);
            if stop.load(Ordering::Relaxed) {
                if !leaves {
                    running.kill()?;
                }
                self.drain()?;
                return if leaves {
                    Ok(None)
                } else {
                    Err(TunerError::Interrupted)
                };
            }
            let exit = running.wait_timeout(pace.period)?;
            self.drain()?;
            if let Some(exit) = exit {
                if outlives {
                    self.catch_up(&exit)?;
                }
                // A signal that stops us may have stopped the launcher at the same time.
                if stop.load(Ordering::Relaxed) && self.finish.is_none() && !outlives {
                    return Err(TunerError::Interrupted);
                }
                return Ok(Some(exit));
            }
            // MPI may hang before anything runs, or when all is done; no watchdog is up then.
            if matches!(standing, JobState::Running { .. }) {
                up.get_or_insert_with(Instant::now);
            }
            if self.finish.is_some() {
                finished.get_or_insert_with(Instant::now);
            }
            let is_over = |since: Option<Instant>, patience| {
                since.is_some_and(|since| since.elapsed() > patience)
            };
            let never_started = !self.started && is_over(up, pace.start_patience);
            if never_started || is_over(finished, pace.end_patience) {
                running.kill()?;
            }
        }
    }

    /// Tells where a job of a batch system stands, whenever that changes.
    fn tell(&mut self, id: Option<&str>, standing: &JobState, told: &mut Option<JobState>) {
        let Some(id) = id.filter(|_| told.as_ref() != Some(standing)) else {
            return;
        };
        let number = self.plan.launch;
        match standing {
            JobState::Queued { reason, .. } => self.observer.notice(TuningEvent::Queued {
                number,
                id,
                reason: reason.as_deref(),
            }),
            JobState::Running { nodes } => {
                self.observer
                    .notice(TuningEvent::Running { number, id, nodes });
            }
            JobState::Ended => {}
        }
        *told = Some(standing.clone());
    }

    /// Reads the spool again, which another node has written: what an open file shows of it may be old.
    fn catch_up(&mut self, exit: &Exit) -> Result<(), TunerError> {
        let end = Instant::now() + VISIBLE_WITHIN;
        loop {
            self.spool = SpoolReader::new(&self.plan.spool);
            self.drain()?;
            let is_whole = self.finish.is_some() || exit.outcome != Outcome::Success;
            if is_whole || Instant::now() > end {
                return Ok(());
            }
            std::thread::sleep(ELSEWHERE.period);
        }
    }
}

/// Whether what a launch wrote is wrong, so that it is no use to let it go on.
fn is_damage(error: &TunerError) -> bool {
    matches!(
        error,
        TunerError::Store(
            StoreError::Spool { .. } | StoreError::OtherOrder { .. } | StoreError::Unplanned { .. }
        )
    )
}

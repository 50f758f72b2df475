//! One launch of the driver, from plan to last record.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use campaign::launcher::{Exit, Job, LaunchError, Outcome, Running};
use store::{SpoolReader, Store};
use wire::{Candidate, FailureKind, Finish, Plan, Record, Subject, Work, exit_code};

use crate::{Event, Observer, Progress, TunerError, Workplace, write_atomically};

/// How often the spool is looked at.
const PERIOD: Duration = Duration::from_millis(50);

/// What a launch may take beyond its deadline: starting, the task in flight, ending.
const GRACE_SECONDS: f64 = 120.0;

/// What the driver's own error messages begin with.
const DRIVER_SAYS: &str = "colltune-driver: ";

/// How a launch ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// In order.
    Finished(Finish),
    /// A candidate took it down; the failure is stored.
    ByCandidate { message: String },
    /// The launcher was killed from outside.
    Killed { message: String },
}

/// A launch under way.
pub(crate) struct Launch<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) store: &'a mut Store,
    pub(crate) observer: &'a mut dyn Observer,
    spool: SpoolReader,
    /// How far the whole campaign is.
    progress: Progress,
    started: bool,
    /// Task and candidate whose turn it is.
    in_flight: Option<(u32, u32)>,
    finish: Option<Finish>,
    /// Whether a result was stored, if only that a candidate fails.
    pub(crate) fruitful: bool,
}

/// The files of a launch, beside the store: `NAME.launches/0001.plan.json` and so on.
pub(crate) fn file(store: &Path, number: u32, kind: &str) -> PathBuf {
    store
        .with_extension("launches")
        .join(format!("{number:04}.{kind}"))
}

impl<'a> Launch<'a> {
    pub(crate) fn new(
        plan: &'a Plan,
        store: &'a mut Store,
        observer: &'a mut dyn Observer,
        progress: Progress,
    ) -> Self {
        Self {
            plan,
            store,
            observer,
            spool: SpoolReader::new(&plan.spool),
            progress,
            started: false,
            in_flight: None,
            finish: None,
            fruitful: false,
        }
    }

    /// Starts the driver and follows it to its end. A stop that is asked for kills it.
    pub(crate) fn run(&mut self, at: &Workplace, stop: &AtomicBool) -> Result<Ended, TunerError> {
        let store = self.store.path().to_owned();
        let path = file(&store, self.plan.launch, "plan.json");
        let text = serde_json::to_string(self.plan).map_err(|error| TunerError::File {
            action: "write",
            path: path.clone(),
            source: error.into(),
        })?;
        write_atomically(&path, &text)?;
        let seconds = self.plan.deadline_seconds.unwrap_or(f64::from(u32::MAX)) + GRACE_SECONDS;
        let shape = at.campaign.largest_shape();
        let mut running = at.launcher.start(&Job {
            driver: at.driver.clone(),
            plan: path,
            ranks: shape.ranks(),
            ppn: shape.ppn,
            log: file(&store, self.plan.launch, "log"),
            environment: Vec::new(),
            timeout: Some(Duration::from_secs_f64(
                seconds + self.plan.watchdog_seconds,
            )),
        })?;
        let exit = self.follow(running.as_mut(), stop)?;
        self.judge(exit)
    }

    fn follow(&mut self, running: &mut dyn Running, stop: &AtomicBool) -> Result<Exit, TunerError> {
        loop {
            if stop.load(Ordering::Relaxed) {
                running.kill()?;
                self.drain()?;
                return Err(TunerError::Interrupted);
            }
            let exit = running.wait_timeout(PERIOD)?;
            if let Err(error) = self.drain() {
                running.kill()?;
                return Err(error);
            }
            if let Some(exit) = exit {
                return Ok(exit);
            }
        }
    }

    /// Stores what has been written to the spool since the last look.
    pub(crate) fn drain(&mut self) -> Result<(), TunerError> {
        while let Some(record) = self.spool.next_record()? {
            self.take(&record)?;
        }
        Ok(())
    }

    fn take(&mut self, record: &Record) -> Result<(), TunerError> {
        let new = self.store.ingest(self.plan, record)?;
        self.fruitful |= new && matches!(record, Record::Done(_) | Record::Failed { .. });
        match record {
            Record::Started(_) => self.started = true,
            Record::Trying { task, candidate } => self.in_flight = Some((*task, *candidate)),
            Record::Failed {
                task,
                candidate,
                kind,
                message,
            } => {
                self.in_flight = None;
                if let Some((subject, candidate)) = self.entrant(*task, *candidate) {
                    let (kind, subject, candidate) = (*kind, &subject, &candidate);
                    self.observer.notice(Event::Failed {
                        subject,
                        candidate,
                        kind,
                        message,
                    });
                }
            }
            Record::Done(_) => {
                self.in_flight = None;
                self.progress.done += u64::from(new);
                self.observer.notice(Event::Stored {
                    progress: self.progress,
                });
            }
            Record::Finished { reason } => self.finish = Some(*reason),
        }
        Ok(())
    }

    fn entrant(&self, task: u32, candidate: u32) -> Option<(Subject, Candidate)> {
        let task = self.plan.tasks.iter().find(|known| known.id == task)?;
        Some(match &task.work {
            Work::Experiment(experiment) => (Subject::Experiment(*experiment), Candidate::Default),
            Work::Compare { cell, candidates } => (
                Subject::Cell(*cell),
                candidates.get(candidate as usize)?.clone(),
            ),
        })
    }

    /// What the way in which the launcher ended means.
    fn judge(&mut self, exit: Exit) -> Result<Ended, TunerError> {
        if let Some(finish) = self.finish {
            return Ok(Ended::Finished(finish));
        }
        let described = LaunchError::Failed {
            outcome: exit.outcome,
            log: exit.log.clone(),
            tail: exit.tail.clone(),
        };
        let message = described.to_string();
        // Launchers do not always pass on the code of the rank that ended first (MPICH's may report
        // the signal that it ended the others with), but what the driver says is in the log.
        if exit.tail.iter().any(|line| line.starts_with(DRIVER_SAYS)) {
            return Err(described.into());
        }
        match exit.outcome {
            Outcome::Code(exit_code::HANG) => self.blame(FailureKind::Hang, message),
            Outcome::Code(exit_code::PLAN | exit_code::LIBRARY | exit_code::FAILED) => {
                Err(described.into())
            }
            Outcome::Code(exit_code::ORPHANED) | Outcome::Signal(_) if self.started => {
                Ok(Ended::Killed { message })
            }
            _ if self.in_flight.is_some() => self.blame(FailureKind::Crash, message),
            _ if self.started => Ok(Ended::Killed { message }),
            _ => Err(described.into()),
        }
    }

    /// Stores that the candidate whose turn it was took the launch down, unless the driver could
    /// still say so itself.
    fn blame(&mut self, kind: FailureKind, message: String) -> Result<Ended, TunerError> {
        if let Some((task, candidate)) = self.in_flight.take() {
            self.take(&Record::Failed {
                task,
                candidate,
                kind,
                message: message.clone(),
            })?;
        }
        Ok(Ended::ByCandidate { message })
    }
}

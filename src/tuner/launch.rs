//! One launch of the driver, from plan to last record.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use campaign::launcher::{Exit, Job, LaunchError, Outcome, Running};
use nix::fcntl::{Flock, FlockArg};
use store::{SpoolReader, Store};
use wire::{Candidate, FailureKind, Finish, Plan, Record, Subject, Work, exit_code};

use crate::{Event, Observer, Progress, TunerError, Workplace, write_atomically};

/// How often the spool is looked at.
const PERIOD: Duration = Duration::from_millis(50);

/// How long the driver may take to report that it is up.
const START_PATIENCE: Duration = Duration::from_secs(90);

/// How long ranks may take to end when all is done.
const END_PATIENCE: Duration = Duration::from_secs(15);

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
    /// Whose turn it was when a launch ended before and nobody knows why.
    pub(crate) suspect: Option<(Subject, Candidate)>,
    /// Whether a result was stored, if only that a candidate fails.
    pub(crate) fruitful: bool,
}

/// The files of a launch, beside the store: `NAME.db.launches/0001.plan.json` and so on.
pub(crate) fn file(store: &Path, number: u32, kind: &str) -> PathBuf {
    let mut folder = store.as_os_str().to_owned();
    folder.push(".launches");
    PathBuf::from(folder).join(format!("{number:04}.{kind}"))
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
            suspect: None,
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
        let leash = match &self.plan.leash {
            Some(leash) => Some(Leash::hold(leash)?),
            None => None,
        };
        let mut running = at.launcher.start(&Job {
            driver: at.driver.clone().unwrap_or_default(),
            plan: path,
            ranks: shape.ranks(),
            ppn: shape.ppn,
            log: file(&store, self.plan.launch, "log"),
            environment: at.environment.clone(),
            timeout: Some(Duration::from_secs_f64(
                seconds + self.plan.watchdog_seconds,
            )),
            begin_in: None,
            keep: false,
        })?;
        let exit = self.follow(running.as_mut(), stop)?;
        let ended = self.judge(exit);
        drop(leash);
        ended
    }

    fn follow(&mut self, running: &mut dyn Running, stop: &AtomicBool) -> Result<Exit, TunerError> {
        let begun = Instant::now();
        let mut finished: Option<Instant> = None;
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
                // Whoever stops us may have stopped the launcher at the same time.
                if stop.load(Ordering::Relaxed) && self.finish.is_none() {
                    return Err(TunerError::Interrupted);
                }
                return Ok(exit);
            }
            // MPI may hang before anything runs, or when all is done; no watchdog is up then.
            if self.finish.is_some() {
                finished.get_or_insert_with(Instant::now);
            }
            let never_started = !self.started && begun.elapsed() > START_PATIENCE;
            if never_started || finished.is_some_and(|since| since.elapsed() > END_PATIENCE) {
                running.kill()?;
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
            Record::Done(done) => {
                self.in_flight = None;
                // All of its candidates have had their turns, the suspect too.
                let whole = self.entrant(done.task, 0).map(|(subject, _)| subject);
                self.suspect
                    .take_if(|(suspected, _)| whole == Some(*suspected));
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
            failed_nodes: exit.failed_nodes.clone(),
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
            // The driver ends hanging turns itself; whoever was in flight at the timeout was not.
            Outcome::Code(exit_code::ORPHANED)
            | Outcome::Signal(_)
            | Outcome::TimedOut
            | Outcome::Killed
            | Outcome::Ended(_)
                if self.started =>
            {
                Ok(Ended::Killed { message })
            }
            Outcome::Code(exit_code::TURN) => self.blame(FailureKind::MpiError, message),
            Outcome::Code(code) if self.started && asked_to_end(code) => {
                Ok(Ended::Killed { message })
            }
            outcome if self.started && is_unexplained(outcome, &exit.tail) => self.suspect(message),
            _ if self.in_flight.is_some() => self.blame(FailureKind::Crash, message),
            _ if self.started => Ok(Ended::Killed { message }),
            _ => Err(described.into()),
        }
    }

    /// The launcher may have been asked to end, or the candidate whose turn it was be to blame: it is
    /// if the same happens again in its next turn.
    fn suspect(&mut self, message: String) -> Result<Ended, TunerError> {
        let in_flight = self
            .in_flight
            .and_then(|(task, candidate)| self.entrant(task, candidate));
        if in_flight.is_some() && in_flight == self.suspect {
            return self.blame(FailureKind::Crash, message);
        }
        self.suspect = in_flight;
        Ok(Ended::Killed { message })
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

/// Whether an exit code means that somebody asked the ranks or the launcher to end, with SIGHUP,
/// SIGINT or SIGTERM: no candidate does that. Launchers report 128 and the signal's number, MPICH's
/// also the bare number.
fn asked_to_end(code: i32) -> bool {
    matches!(code, 129 | 130 | 143 | 2 | 15)
}

/// Whether a launcher ended early without a word about a process that did: so do launchers that are
/// asked to end themselves, MPICH's often as if all were well, and Open MPI's with 1. Both tell it in
/// several lines if a rank ends first.
fn is_unexplained(outcome: Outcome, tail: &[String]) -> bool {
    let names_a_process = |line: &String| {
        let line = line.to_lowercase();
        !line.contains("ctrl-c") && (line.contains("process") || line.contains("rank"))
    };
    match outcome {
        Outcome::Success => true,
        Outcome::Code(1) => !tail.iter().any(names_a_process),
        _ => false,
    }
}

/// The lock on a launch's own file by which its ranks see that somebody waits for them.
///
/// It is the launch's own, not the store's: whoever continues after a kill locks the store at
/// once, and must not thereby keep the ranks of the killed launch alive.
struct Leash {
    path: PathBuf,
    _lock: Flock<File>,
}

impl Leash {
    fn hold(path: &Path) -> Result<Self, TunerError> {
        let failed = |source| TunerError::File {
            action: "lock",
            path: path.to_owned(),
            source,
        };
        let file = File::create(path).map_err(failed)?;
        let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock)
            .map_err(|(_, errno)| failed(errno.into()))?;
        Ok(Self {
            path: path.to_owned(),
            _lock: lock,
        })
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        // Left behind, it is an empty file and nothing worse.
        let _ = std::fs::remove_file(&self.path);
    }
}

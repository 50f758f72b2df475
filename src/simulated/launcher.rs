//! The launcher that starts no processes.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use launcher::{Exit, Job, LaunchError, Launcher, Outcome, Running};
use model::{Machine, Placement};
use vocabulary::{Candidate, Cell, Library, Pattern, Subject};

use crate::identity::library;
use crate::rules::{Rules, RulesError};
use crate::session::{Session, Stopped, read};
use crate::spool::Spool;
use crate::times::Times;

/// Carries out jobs on a simulated machine, each in a thread of this process.
///
/// A job's program, environment and timeout mean nothing here: there is no process, and its time is
/// not that of the clock on the wall.
pub struct SimulatedLauncher {
    library: Library,
    times: Arc<Times>,
}

impl SimulatedLauncher {
    /// A launcher for this machine, which must be valid, with ranks dealt to nodes like this.
    ///
    /// # Errors
    /// If the rules of the library's default cannot be read.
    pub fn new(machine: Machine, placement: Placement) -> Result<Self, RulesError> {
        let rules = Rules::published()?;
        Ok(Self {
            library: library(&machine, &rules),
            times: Arc::new(Times::new(machine, placement, rules)),
        })
    }

    /// The same machine, on which an algorithm takes `factor` times as long wherever it is used, also by
    /// the library's default. It keeps its name, as after an update that went unnoticed.
    pub fn slowed(self, algorithm: &str, factor: f64) -> Self {
        let Self { library, times } = self;
        Self {
            library,
            times: Arc::new(times.slowed(algorithm, factor)),
        }
    }

    /// The library that stands for this machine.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// What a call of a candidate in a cell takes without noise if all ranks begin it together, in seconds:
    /// measurements and decisions can be judged by it. `None` if it cannot be simulated here.
    pub fn noise_free_seconds(&self, cell: &Cell, candidate: &Candidate) -> Option<f64> {
        let subject = Subject::Cell(*cell);
        self.times.of(subject, candidate, Pattern::Together).ok()
    }
}

impl Launcher for SimulatedLauncher {
    fn start(&self, job: &Job) -> Result<Box<dyn Running>, LaunchError> {
        let failed = |source| LaunchError::Log {
            path: job.log.clone(),
            source,
        };
        fs::write(&job.log, "").map_err(failed)?;
        let spool = Arc::new(Spool::default());
        let thread = thread::Builder::new().spawn({
            let (job, library) = (job.clone(), self.library.clone());
            let (times, spool) = (Arc::clone(&self.times), Arc::clone(&spool));
            move || carry_out(&job, &library, &times, &spool)
        });
        Ok(Box::new(SimulatedRun {
            thread: Some(thread.map_err(failed)?),
            spool,
            log: job.log.clone(),
            end: None,
        }))
    }
}

/// Carries out a job's plan; gives the code that a driver would exit with.
fn carry_out(job: &Job, library: &Library, times: &Times, spool: &Spool) -> i32 {
    let carried_out = read(&job.plan).and_then(|plan| {
        spool.open(&plan.spool).map_err(Stopped::Spool)?;
        let session = Session {
            plan: &plan,
            library,
            ranks: job.ranks,
            ppn: job.ppn,
            times,
            spool,
        };
        session.run()
    });
    let Err(stopped) = carried_out else {
        return 0;
    };
    if !matches!(stopped, Stopped::Killed) {
        // The log is for people; the code says the same.
        let _ = fs::write(&job.log, format!("colltune: {stopped}\n"));
    }
    stopped.exit_code()
}

/// A job under way.
struct SimulatedRun {
    /// Absent once it has ended or is not waited for any more.
    thread: Option<JoinHandle<i32>>,
    spool: Arc<Spool>,
    log: PathBuf,
    end: Option<Outcome>,
}

impl SimulatedRun {
    /// How the job ended, if its thread has.
    fn join(&mut self) -> Outcome {
        let joined = self.thread.take().map(JoinHandle::join);
        let outcome = match joined {
            Some(Ok(0)) => Outcome::Success,
            Some(Ok(code)) => Outcome::Code(code),
            // The panic has printed its message.
            Some(Err(_)) => Outcome::Code(101),
            None => Outcome::Killed,
        };
        *self.end.get_or_insert(outcome)
    }
}

impl Running for SimulatedRun {
    fn poll(&mut self) -> Result<Option<Exit>, LaunchError> {
        let is_running = self.thread.as_ref().is_some_and(|t| !t.is_finished());
        if is_running {
            return Ok(None);
        }
        let outcome = self.join();
        let log = files::read_text(&self.log).unwrap_or_default();
        Ok(Some(Exit {
            outcome,
            log: self.log.clone(),
            tail: log.lines().map(str::to_owned).collect(),
            failed_nodes: Vec::new(),
        }))
    }

    /// What is being simulated at the moment goes on, but its result is dropped.
    fn kill(&mut self) -> Result<(), LaunchError> {
        if self.thread.as_ref().is_some_and(|t| !t.is_finished()) {
            self.spool.close();
            self.end = Some(Outcome::Killed);
            self.thread = None;
        }
        Ok(())
    }
}

impl Drop for SimulatedRun {
    fn drop(&mut self) {
        // Killing a thread of our own cannot fail.
        let _ = self.kill();
    }
}

//! The launcher that starts no processes.

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use benchmarking::{LaunchSession, Spool};
use launcher::{Exit, Job, LaunchError, Launcher, Outcome, Running};
use model::Machine;
use vocabulary::{Candidate, Cell, Experiment, Library, Pattern, Placement, Subject};

use crate::identity::library_for_machine;
use crate::rules::{Rules, RulesError};
use crate::session::{Session, Stopped, read_plan};
use crate::times::Times;

/// Carries out jobs on a simulated machine, each in a thread of this process.
///
/// It ignores a job's program, environment and timeout: there is no process, and its time is simulated.
pub struct SimulatedLauncher {
    library: Library,
    times: Arc<Times>,
}

impl SimulatedLauncher {
    /// A launcher for this machine, which must be valid, with this placement of ranks.
    ///
    /// # Errors
    /// The rules of the library's default cannot be read.
    pub fn new(machine: Machine, placement: Placement) -> Result<Self, RulesError> {
        let rules = Rules::built_in()?;
        Ok(Self {
            library: library_for_machine(&machine, &rules),
            times: Arc::new(Times::new(machine, placement, rules)),
        })
    }

    /// The same machine, on which an algorithm takes `factor` times as long, also when it is the library's default. Its
    /// name is unchanged, as after an unnoticed update.
    pub fn with_slowed_algorithm(self, algorithm: &str, factor: f64) -> Self {
        let Self { library, times } = self;
        Self {
            library,
            times: Arc::new(times.with_slowed_algorithm(algorithm, factor)),
        }
    }

    /// The library that represents this machine.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// The noise-free time in seconds of a call of a candidate in a cell that all ranks begin together, as a reference
    /// for measurements and decisions. `None` if it cannot be simulated.
    pub fn noise_free_seconds(&self, cell: &Cell, candidate: &Candidate) -> Option<f64> {
        let subject = Subject::Cell(*cell);
        self.times
            .undisturbed_seconds(subject, candidate, Pattern::Together)
            .ok()
    }

    /// The noise-free time of a repetition of an experiment in seconds; `None` if the machine lacks what it measures.
    pub fn experiment_seconds(&self, experiment: Experiment) -> Option<f64> {
        let subject = Subject::Experiment(experiment);
        let time = self
            .times
            .undisturbed_seconds(subject, &Candidate::Default, Pattern::Together);
        time.ok()
    }
}

impl Launcher for SimulatedLauncher {
    fn start(&self, job: &Job) -> Result<Box<dyn Running>, LaunchError> {
        let failed = |source| LaunchError::Log {
            path: job.log.clone(),
            source,
        };
        fs::write(&job.log, "").map_err(failed)?;
        let spool = Spool::default();
        let thread = thread::Builder::new().spawn({
            let (job, library) = (job.clone(), self.library.clone());
            let (times, spool) = (Arc::clone(&self.times), spool.clone());
            move || carry_out_job(&job, &library, &times, &spool)
        });
        Ok(Box::new(SimulatedRun {
            thread: Some(thread.map_err(failed)?),
            spool,
            log: job.log.clone(),
            end: None,
        }))
    }
}

/// Carries out a job's plan; returns a driver's exit code.
fn carry_out_job(job: &Job, library: &Library, times: &Times, spool: &Spool) -> i32 {
    let carried_out = read_plan(&job.plan).and_then(|plan| {
        spool.open_with(&plan.spool, |path| {
            File::options().create(true).append(true).open(path)
        })?;
        let session = Session {
            launch: LaunchSession::new(&plan, library, spool.clone())?,
            library,
            ranks: job.ranks,
            ppn: job.ppn,
            times,
        };
        session.run_plan()
    });
    let Err(stopped) = carried_out else {
        return 0;
    };
    if !matches!(stopped, Stopped::Killed) {
        // The log is for people; the exit code has the same information.
        let _ = fs::write(&job.log, format!("colltune: {stopped}\n"));
    }
    stopped.exit_code()
}

/// A job under way.
struct SimulatedRun {
    /// `None` once it has ended or is no longer waited for.
    thread: Option<JoinHandle<i32>>,
    spool: Spool,
    log: PathBuf,
    end: Option<Outcome>,
}

impl SimulatedRun {
    /// The outcome of the job, if its thread has ended.
    fn join_thread(&mut self) -> Outcome {
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
        let outcome = self.join_thread();
        let log = files::read_text(&self.log).unwrap_or_default();
        Ok(Some(Exit {
            outcome,
            log: self.log.clone(),
            tail: log.lines().map(str::to_owned).collect(),
            failed_nodes: Vec::new(),
        }))
    }

    /// The running simulation continues, but its result is dropped.
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
        // Killing one of our threads cannot fail.
        let _ = self.kill();
    }
}

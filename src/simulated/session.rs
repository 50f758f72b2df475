//! One launch, from plan to last record.

use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use sampling::Progress;
use thiserror::Error;
use wire::{
    Candidate, Environment, FailureKind, Finish, LaunchStart, Library, Measurement, Plan, Record,
    Subject, Synchronisation, Task, TaskDone, WIRE_VERSION, Warning, Work, exit_code,
};

use crate::disturbance::Disturbance;
use crate::spool::Spool;
use crate::times::Times;

/// Why a launch ended early.
#[derive(Debug, Error)]
pub(crate) enum Stopped {
    /// The plan cannot be read.
    #[error("cannot read the plan: {0}")]
    Plan(#[source] io::Error),
    /// The plan is for a driver of another version.
    #[error("the plan has version {0}, this program reads {WIRE_VERSION}")]
    Version(u32),
    /// The plan is for something else than this machine.
    #[error("the plan is for {planned}, this is {found}")]
    OtherLibrary {
        /// What the plan says.
        planned: Library,
        /// What there is.
        found: Library,
    },
    /// A record cannot be written.
    #[error("cannot write to the spool: {0}")]
    Spool(#[source] io::Error),
    /// Somebody closed the spool.
    #[error("the launch was killed")]
    Killed,
}

impl Stopped {
    /// The exit code of a driver that stops for this.
    pub(crate) fn exit_code(&self) -> i32 {
        match self {
            Self::Plan(_) | Self::Version(_) => exit_code::PLAN,
            Self::OtherLibrary { .. } => exit_code::LIBRARY,
            Self::Spool(_) => exit_code::FAILED,
            Self::Killed => exit_code::ORPHANED,
        }
    }
}

/// Reads a plan.
pub(crate) fn read(path: &Path) -> Result<Plan, Stopped> {
    let text = std::fs::read(path).map_err(Stopped::Plan)?;
    let plan: Plan = serde_json::from_slice(&text).map_err(|error| Stopped::Plan(error.into()))?;
    match plan.version {
        WIRE_VERSION => Ok(plan),
        version => Err(Stopped::Version(version)),
    }
}

/// A launch under way.
pub(crate) struct Session<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) library: &'a Library,
    pub(crate) ranks: u32,
    pub(crate) ppn: u32,
    pub(crate) times: &'a Times,
    /// Where records go; the launch ends when somebody closes it.
    pub(crate) spool: &'a Spool,
}

impl Session<'_> {
    /// Carries out the plan.
    pub(crate) fn run(&self) -> Result<(), Stopped> {
        if self.plan.library != *self.library {
            return Err(Stopped::OtherLibrary {
                planned: self.plan.library.clone(),
                found: self.library.clone(),
            });
        }
        self.write(&Record::Started(self.start()))?;
        let deadline = self.plan.deadline_seconds.unwrap_or(f64::INFINITY);
        let mut clock = 0.0;
        for task in &self.plan.tasks {
            if clock >= deadline {
                let reason = Finish::Deadline;
                return self.write(&Record::Finished { reason });
            }
            clock += self.task(task)?;
        }
        let reason = Finish::Complete;
        self.write(&Record::Finished { reason })
    }

    fn write(&self, record: &Record) -> Result<(), Stopped> {
        match self.spool.write(record) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Stopped::Killed),
            Err(error) => Err(Stopped::Spool(error)),
        }
    }

    fn start(&self) -> LaunchStart {
        let machine = self.times.machine();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        LaunchStart {
            campaign: self.plan.campaign.clone(),
            launch: self.plan.launch,
            unix_seconds: now.map_or(0, |since| since.as_secs()),
            environment: Environment {
                library: Some(self.library.clone()),
                library_text: format!("the simulated machine {}", machine.name),
                colltune: env!("CARGO_PKG_VERSION").to_owned(),
                hosts: vec![machine.name.clone()],
                ranks: self.ranks,
                cores: machine.ranks_per_node.max(self.ppn),
                cpu: "simulated".to_owned(),
                warnings: vec![Warning::Simulated {
                    machine: machine.name.clone(),
                }],
                ..Environment::default()
            },
        }
    }

    /// Carries out a task; returns the simulated seconds that it took.
    fn task(&self, task: &Task) -> Result<f64, Stopped> {
        let (subject, candidates) = match &task.work {
            Work::Compare { cell, candidates } => (Subject::Cell(*cell), &candidates[..]),
            Work::Experiment(experiment) => {
                (Subject::Experiment(*experiment), &[Candidate::Default][..])
            }
        };
        self.times
            .prepare(subject, candidates, &|| self.spool.is_closed());
        let mut elapsed_seconds = 0.0;
        let mut measurements = Vec::new();
        for (index, candidate) in (0..).zip(candidates) {
            self.write(&Record::Trying {
                task: task.id,
                candidate: index,
            })?;
            let failed = |kind, message| {
                self.write(&Record::Failed {
                    task: task.id,
                    candidate: index,
                    kind,
                    message,
                })
            };
            match self.times.of(subject, candidate) {
                Err(refusal) => failed(FailureKind::Unsupported, refusal.to_string())?,
                Ok(seconds) if seconds > self.plan.watchdog_seconds => {
                    let patience = self.plan.watchdog_seconds;
                    let message = format!("no end after {patience} s");
                    failed(FailureKind::Hang, message)?;
                    // Nothing has to be killed: the launch goes on.
                    elapsed_seconds += patience;
                }
                Ok(seconds) => {
                    let (measurement, spent) =
                        self.measure(task.round, (subject, candidate), index, seconds);
                    measurements.push(measurement);
                    elapsed_seconds += spent;
                }
            }
        }
        self.write(&Record::Done(TaskDone {
            task: task.id,
            elapsed_seconds,
            measurements,
        }))?;
        Ok(elapsed_seconds)
    }

    /// Simulated clocks are perfect; and experiments need none.
    fn residual_seconds(&self, subject: &Subject) -> Option<f64> {
        let is_window = self.plan.synchronisation == Synchronisation::Window;
        (is_window && matches!(subject, Subject::Cell(_))).then_some(0.0)
    }

    /// Repeats a candidate that takes so long, as the driver would; returns what that took, too.
    fn measure(
        &self,
        round: u32,
        (subject, candidate): (Subject, &Candidate),
        index: u32,
        seconds: f64,
    ) -> (Measurement, f64) {
        let machine = self.times.machine();
        let noise = machine.noise.unwrap_or_default();
        let mut disturbance = Disturbance::new(noise, (self.plan.seed, round), &subject, candidate);
        let wanted = &self.plan.repetition;
        let barrier = self.times.barrier_seconds(subject.shape());
        let mut progress = Progress::default();
        // The first call, whose result would be checked.
        let mut spent = barrier + disturbance.disturb(seconds);
        while !progress.is_enough(wanted) {
            let calls = progress.turn(seconds + barrier, wanted, self.plan.watchdog_seconds);
            let turn: Vec<f64> = (0..calls).map(|_| disturbance.disturb(seconds)).collect();
            let turn_seconds = turn.iter().sum::<f64>() + barrier * calls as f64;
            progress.add(&turn, turn_seconds);
            spent += turn_seconds;
        }
        let measurement = Measurement {
            candidate: index,
            warmup: 1,
            batch: 1,
            seconds: progress.into_seconds(),
            invalid: Vec::new(),
            residual_seconds: self.residual_seconds(&subject),
            left: None,
        };
        (measurement, spent)
    }
}

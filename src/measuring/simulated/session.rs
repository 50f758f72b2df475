//! One launch, from the plan to the last record.

use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use benchmarking::CellBenchmark;
use statistics::clock::ClockResolution;
use thiserror::Error;
use vocabulary::bounds::{SPAN, TIME};
use vocabulary::{CacheState, Candidate, Library, Pattern, Subject, Warning};
use wire::{
    Environment, Finish, LaunchStart, Plan, PlannedTask, PlannedWork, Record, TaskDone,
    WIRE_VERSION, exit_code,
};

use crate::executor::SimulatedExecutor;
use crate::spool::Spool;
use crate::times::Times;

/// The resolution of a simulated clock, which is unlimited.
const PERFECT: ClockResolution = ClockResolution {
    overhead_seconds: 0.0,
    resolution_seconds: 0.0,
};

/// The reason why a launch ended early.
#[derive(Debug, Error)]
pub(crate) enum Stopped {
    #[error("cannot read the plan: {0}")]
    Plan(#[source] io::Error),
    #[error("the plan has version {0}, this program reads {WIRE_VERSION}")]
    Version(u32),
    #[error("the plan is for {planned}, this is {found}")]
    OtherLibrary { planned: Library, found: Library },
    #[error("the plan is for cold caches, but a simulated machine has no caches")]
    ColdCaches,
    #[error("cannot write to the spool: {0}")]
    Spool(#[source] io::Error),
    #[error("the launch was killed")]
    Killed,
}

impl Stopped {
    /// The exit code that a driver has for this reason.
    pub(crate) fn exit_code(&self) -> i32 {
        match self {
            Self::Plan(_) | Self::Version(_) | Self::ColdCaches => exit_code::PLAN,
            Self::OtherLibrary { .. } => exit_code::LIBRARY,
            Self::Spool(_) => exit_code::FAILED,
            Self::Killed => exit_code::ORPHANED,
        }
    }
}

pub(crate) fn read_plan(path: &Path) -> Result<Plan, Stopped> {
    let text = files::read(path).map_err(Stopped::Plan)?;
    let plan: Plan = serde_json::from_slice(&text).map_err(|error| Stopped::Plan(error.into()))?;
    match plan.version {
        WIRE_VERSION => Ok(plan),
        version => Err(Stopped::Version(version)),
    }
}

/// A running launch.
pub(crate) struct Session<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) library: &'a Library,
    pub(crate) ranks: u32,
    pub(crate) ppn: u32,
    pub(crate) times: &'a Times,
    /// The spool for records; the launch ends when it is closed.
    pub(crate) spool: &'a Spool,
}

impl Session<'_> {
    pub(crate) fn run_plan(&self) -> Result<(), Stopped> {
        if self.plan.library != *self.library {
            return Err(Stopped::OtherLibrary {
                planned: self.plan.library.clone(),
                found: self.library.clone(),
            });
        }
        if self.plan.cache == CacheState::Cold {
            return Err(Stopped::ColdCaches);
        }
        self.write_record(&Record::Started(self.launch_start()))?;
        let deadline = self.plan.deadline_seconds.unwrap_or(f64::INFINITY);
        let mut clock = 0.0;
        for task in &self.plan.tasks {
            if clock >= deadline {
                let reason = Finish::Deadline;
                return self.write_record(&Record::Finished { reason });
            }
            clock += self.simulate_task(task)?;
        }
        let reason = Finish::Complete;
        self.write_record(&Record::Finished { reason })
    }

    pub(crate) fn write_record(&self, record: &Record) -> Result<(), Stopped> {
        match self.spool.write_record(record) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Stopped::Killed),
            Err(error) => Err(Stopped::Spool(error)),
        }
    }

    fn launch_start(&self) -> LaunchStart {
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
                shared_memory: Some(machine.shared.is_some()),
                warnings: vec![Warning::Simulated {
                    machine: machine.name.clone(),
                }],
                ..Environment::default()
            },
        }
    }

    /// Carries out a task; returns the simulated seconds that it took.
    fn simulate_task(&self, task: &PlannedTask) -> Result<f64, Stopped> {
        let (subject, candidates) = match &task.work {
            PlannedWork::Compare { cell, candidates } => (Subject::Cell(*cell), &candidates[..]),
            PlannedWork::Experiment(experiment) => {
                (Subject::Experiment(*experiment), &[Candidate::Default][..])
            }
        };
        let pattern = match subject {
            Subject::Cell(_) => task.pattern,
            Subject::Experiment(_) => Pattern::Together,
        };
        self.times
            .compute_in_parallel(subject, candidates, pattern, &|| self.spool.is_closed());
        let benchmark = CellBenchmark {
            candidates,
            pattern,
            together: task.calls,
            repetition: &self.plan.repetition,
            racing: self.plan.racing,
            timer: PERFECT,
            patience_seconds: self.plan.watchdog_seconds,
            // Each candidate has its own random numbers, so the order of turns does not matter.
            seed: None,
        };
        let (mut measurements, mut spent) =
            benchmark.measure_candidates(&mut SimulatedExecutor {
                session: self,
                task: task.id,
                round: task.round,
                subject,
                pattern,
                barrier_seconds: self.times.barrier_seconds(subject.shape()),
                elapsed_seconds: 0.0,
            })?;
        // Machines may be faster or slower than the times that records can have.
        let all = measurements.iter_mut().flat_map(|of| &mut of.seconds);
        for seconds in all.filter(|seconds| **seconds > 0.0) {
            *seconds = TIME.nearest_value(*seconds);
        }
        for seconds in [
            &mut spent.preparing_seconds,
            &mut spent.starting_seconds,
            &mut spent.calling_seconds,
        ] {
            *seconds = SPAN.nearest_value(*seconds);
        }
        let elapsed_seconds =
            spent.preparing_seconds + spent.starting_seconds + spent.calling_seconds;
        let elapsed_seconds = SPAN.nearest_value(elapsed_seconds);
        self.write_record(&Record::Done(TaskDone {
            task: task.id,
            order: self.times.placement().order().on_shape(subject.shape()),
            elapsed_seconds,
            spent: Some(spent),
            measurements,
        }))?;
        Ok(elapsed_seconds)
    }
}

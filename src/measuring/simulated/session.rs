//! One launch, from the plan to the last record.

use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use benchmarking::{LaunchSession, PlanError, SpoolError, TaskRunner};
use statistics::clock::ClockResolution;
use thiserror::Error;
use vocabulary::bounds::{SPAN, TIME};
use vocabulary::{CacheState, Candidate, Library, Pattern, Subject, Warning};
use wire::{Environment, Plan, PlannedTask, PlannedWork, Record, TaskDone, exit_code};

use crate::executor::SimulatedExecutor;
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
    Unreadable(#[source] io::Error),
    #[error(transparent)]
    Plan(#[from] PlanError),
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
            Self::Unreadable(_) | Self::ColdCaches => exit_code::PLAN,
            Self::Plan(error) => error.exit_code(),
            Self::Spool(_) => exit_code::FAILED,
            Self::Killed => exit_code::ORPHANED,
        }
    }
}

impl From<SpoolError> for Stopped {
    fn from(error: SpoolError) -> Self {
        match error {
            SpoolError::Closed => Self::Killed,
            SpoolError::Encode(source) => Self::Spool(source.into()),
            SpoolError::Write { source, .. } => Self::Spool(source),
        }
    }
}

pub(crate) fn read_plan(path: &Path) -> Result<Plan, Stopped> {
    let text = files::read(path).map_err(Stopped::Unreadable)?;
    Ok(benchmarking::parse_plan(&text)?)
}

/// A running launch. It ends when its spool is closed.
pub(crate) struct Session<'a> {
    pub(crate) launch: LaunchSession<'a>,
    pub(crate) library: &'a Library,
    pub(crate) ranks: u32,
    pub(crate) ppn: u32,
    pub(crate) times: &'a Times,
}

/// Carries out tasks in simulated time.
struct SimulatedTasks<'a> {
    session: &'a Session<'a>,
    /// The simulated time since the start of the launch, in seconds.
    clock: f64,
}

impl TaskRunner for SimulatedTasks<'_> {
    type Error = Stopped;

    fn may_begin(&mut self, deadline_seconds: f64) -> Result<bool, Stopped> {
        Ok(self.clock < deadline_seconds)
    }

    fn carry_out_task(
        &mut self,
        task: &PlannedTask,
        record: impl FnOnce(TaskDone) -> Result<(), SpoolError>,
    ) -> Result<(), Stopped> {
        let done = self.session.simulate_task(task)?;
        self.clock += done.elapsed_seconds;
        Ok(record(done)?)
    }
}

impl Session<'_> {
    pub(crate) fn run_plan(&self) -> Result<(), Stopped> {
        if self.launch.plan().cache == CacheState::Cold {
            return Err(Stopped::ColdCaches);
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let unix_seconds = now.map_or(0, |since| since.as_secs());
        self.launch
            .record_start(unix_seconds, self.describe_environment())?;
        self.launch.carry_out_tasks(&mut SimulatedTasks {
            session: self,
            clock: 0.0,
        })
    }

    pub(crate) fn write_record(&self, record: &Record) -> Result<(), Stopped> {
        Ok(self.launch.spool().write_record(record)?)
    }

    fn describe_environment(&self) -> Environment {
        let machine = self.times.machine();
        Environment {
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
        }
    }

    fn simulate_task(&self, task: &PlannedTask) -> Result<TaskDone, Stopped> {
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
            .compute_in_parallel(subject, candidates, pattern, &|| {
                self.launch.spool().is_closed()
            });
        // Each candidate has its own random numbers, so the order of turns does not matter.
        let benchmark = self
            .launch
            .benchmark_for(task, candidates, pattern, PERFECT);
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
        Ok(TaskDone {
            task: task.id,
            order: self.times.placement().order().on_shape(subject.shape()),
            elapsed_seconds,
            spent: Some(spent),
            measurements,
        })
    }
}

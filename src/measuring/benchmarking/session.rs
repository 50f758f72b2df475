//! One launch, from the text of its plan to the last record: the side of the protocol of `wire` that measures.
//!
//! A measuring program reads the plan with [`parse_plan`], which refuses other versions before it looks at anything else,
//! and begins a [`LaunchSession`], which refuses a plan for another library. The first record is
//! [`LaunchSession::record_start`]'s; [`LaunchSession::carry_out_tasks`] writes the others, but for those within a task,
//! and the last one. What a task is, its [`TaskRunner`] knows: MPI calls, or simulated ones.

use statistics::clock::ClockResolution;
use thiserror::Error;
use vocabulary::{Candidate, Library, Pattern};
use wire::{
    Environment, Finish, LaunchStart, Plan, PlannedTask, Record, TaskDone, WIRE_VERSION, exit_code,
};

use crate::{CellBenchmark, Spool, SpoolError};

/// The reason why a plan is not carried out.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum PlanError {
    /// The text is not that of a plan.
    #[error("the plan is not valid: {0}")]
    Parse(#[from] serde_json::Error),
    /// Another version of colltune wrote the plan.
    #[error("the plan has version {0}, this program reads {WIRE_VERSION}")]
    Version(u32),
    /// The plan is for another library.
    #[error("the plan is for {planned}, this is {found}")]
    OtherLibrary { planned: Library, found: Library },
}

impl PlanError {
    /// The exit code of a measuring program that refuses the plan.
    #[must_use]
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Parse(_) | Self::Version(_) => exit_code::PLAN,
            Self::OtherLibrary { .. } => exit_code::LIBRARY,
        }
    }
}

/// Parses a plan of this version.
///
/// # Errors
/// [`PlanError::Version`], also if the text is not a plan of this version otherwise; [`PlanError::Parse`].
pub fn parse_plan(text: &[u8]) -> Result<Plan, PlanError> {
    // The version comes first: a plan of another version may not parse at all.
    let value: serde_json::Value = serde_json::from_slice(text)?;
    match value.get("version").and_then(serde_json::Value::as_u64) {
        Some(version) if version != u64::from(WIRE_VERSION) => Err(PlanError::Version(
            u32::try_from(version).unwrap_or(u32::MAX),
        )),
        _ => Ok(serde_json::from_value(value)?),
    }
}

/// What carries out the tasks of a launch.
pub trait TaskRunner {
    /// An error that ends the launch.
    type Error: From<SpoolError>;

    /// Whether there is time for another task, if none may begin `deadline_seconds` after the launch's start. All ranks
    /// have the same answer.
    ///
    /// # Errors
    /// Those that end the launch.
    fn may_begin(&mut self, deadline_seconds: f64) -> Result<bool, Self::Error>;

    /// Carries out a task, and calls `record` with its measurements; not on ranks that take no part.
    ///
    /// `record` writes at once. It must be called before anything that the task used is released: if the release fails
    /// or hangs, the measurements would be lost, and the last candidate would be blamed.
    ///
    /// # Errors
    /// Those of `record`; those that end the launch.
    fn carry_out_task(
        &mut self,
        task: &PlannedTask,
        record: impl FnOnce(TaskDone) -> Result<(), SpoolError>,
    ) -> Result<(), Self::Error>;

    /// Brings the ranks together after a task is recorded and what it used is released.
    ///
    /// # Errors
    /// Those that end the launch.
    fn end_task(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// A launch that carries out a plan.
#[derive(Clone, Debug)]
pub struct LaunchSession<'a> {
    plan: &'a Plan,
    spool: Spool,
}

impl<'a> LaunchSession<'a> {
    /// A launch on a library.
    ///
    /// # Errors
    /// [`PlanError::OtherLibrary`].
    pub fn new(plan: &'a Plan, found: &Library, spool: Spool) -> Result<Self, PlanError> {
        if plan.library == *found {
            Ok(Self { plan, spool })
        } else {
            Err(PlanError::OtherLibrary {
                planned: plan.library.clone(),
                found: found.clone(),
            })
        }
    }

    /// The launch's plan.
    #[must_use]
    pub fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// The launch's spool.
    #[must_use]
    pub fn spool(&self) -> &Spool {
        &self.spool
    }

    /// Writes the first record. `unix_seconds` is the time now.
    ///
    /// # Errors
    /// [`SpoolError`].
    pub fn record_start(
        &self,
        unix_seconds: u64,
        environment: Environment,
    ) -> Result<(), SpoolError> {
        self.spool.write_record(&Record::Started(LaunchStart {
            campaign: self.plan.campaign.clone(),
            launch: self.plan.launch,
            unix_seconds,
            environment,
        }))
    }

    /// Carries out the tasks in the plan's order, as long as there is time, and writes a record of each and the last
    /// record.
    ///
    /// # Errors
    /// Those of `runner` and [`SpoolError`]; the last record is then missing.
    pub fn carry_out_tasks<R: TaskRunner>(&self, runner: &mut R) -> Result<(), R::Error> {
        let deadline_seconds = self.plan.deadline_seconds.unwrap_or(f64::INFINITY);
        for task in &self.plan.tasks {
            if !runner.may_begin(deadline_seconds)? {
                return self.record_finish(Finish::Deadline);
            }
            runner.carry_out_task(task, |done| self.spool.write_record(&Record::Done(done)))?;
            runner.end_task()?;
        }
        self.record_finish(Finish::Complete)
    }

    fn record_finish<E: From<SpoolError>>(&self, reason: Finish) -> Result<(), E> {
        Ok(self.spool.write_record(&Record::Finished { reason })?)
    }

    /// The benchmark of a task's candidates under the plan's conditions, with the order of candidates that the plan has.
    #[must_use]
    pub fn benchmark_for<'c>(
        &self,
        task: &PlannedTask,
        candidates: &'c [Candidate],
        pattern: Pattern,
        timer: ClockResolution,
    ) -> CellBenchmark<'c>
    where
        'a: 'c,
    {
        CellBenchmark {
            candidates,
            pattern,
            together: task.calls,
            repetition: &self.plan.repetition,
            racing: self.plan.racing,
            timer,
            patience_seconds: self.plan.watchdog_seconds,
            seed: None,
        }
    }
}

//! Storage of the records of a launch.

use rusqlite::{OptionalExtension, Transaction, params};
use serde::Serialize;
use vocabulary::{Candidate, Pattern, Subject};
use wire::{
    FailureKind, LaunchStart, Plan, PlannedTask, PlannedWork, Record, TaskDone, TimeBreakdown,
};

use crate::columns::{Json, Places, Repetitions};
use crate::order::insert_order;
use crate::{Store, StoreError};

impl Store {
    /// Stores one record of the launch that carries out `plan`, in one transaction.
    ///
    /// Returns whether the store has changed. A record that it already holds is skipped, so a spool file may be read
    /// again from its beginning. [`Record::Trying`] and [`Record::Finished`] are not stored. A measurement without
    /// repetitions is left out; its task still counts as done.
    ///
    /// # Errors
    /// [`StoreError::NotUnderWay`] if the launch was never begun; [`StoreError::Unplanned`] if the record does not fit
    /// the plan; [`StoreError::OtherOrder`] if the order of ranks differs from that of earlier measurements.
    pub fn ingest_record(&mut self, plan: &Plan, record: &Record) -> Result<bool, StoreError> {
        match record {
            Record::Trying { .. } | Record::Finished { .. } => Ok(false),
            Record::Started(start) => self.ingest_start(plan, start),
            Record::Failed {
                task,
                candidate,
                kind,
                message,
            } => {
                let place = [*task, *candidate];
                self.ingest_failure(plan, place, *kind, message)
            }
            Record::Done(done) => self.ingest_task(plan, done),
        }
    }

    fn ingest_start(&mut self, plan: &Plan, start: &LaunchStart) -> Result<bool, StoreError> {
        if start.launch != plan.launch || start.campaign != plan.campaign {
            return Err(StoreError::Unplanned {
                launch: start.launch,
                what: format!(
                    "of campaign {} reported itself where launch {} of campaign {} was expected",
                    start.campaign, plan.launch, plan.campaign
                ),
            });
        }
        self.write_launch(plan.launch, |transaction| {
            let changed = transaction.execute(
                "UPDATE launch SET environment = ?2 WHERE number = ?1 AND environment IS NULL",
                params![plan.launch, Json(start)],
            )?;
            Ok(changed == 1)
        })
    }

    /// Stores the failure of a candidate, by its index, in a task.
    fn ingest_failure(
        &mut self,
        plan: &Plan,
        [task_id, position]: [u32; 2],
        kind: FailureKind,
        message: &str,
    ) -> Result<bool, StoreError> {
        let task = task_of(plan, task_id)?;
        let candidate = candidate_of(plan, task, position)?;
        self.write_launch(plan.launch, |transaction| {
            let subject = intern_definition(transaction, Interned::Subject, &subject_of(task))?;
            let named = intern_definition(transaction, Interned::Candidate, candidate)?;
            let changed = transaction
                .prepare_cached(
                    "INSERT INTO failure
                     (launch, task, position, subject, candidate, kind, message)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
                )?
                .execute(params![
                    plan.launch,
                    task_id,
                    position,
                    subject,
                    named,
                    Json(kind),
                    message
                ])?;
            Ok(changed == 1)
        })
    }

    fn ingest_task(&mut self, plan: &Plan, done: &TaskDone) -> Result<bool, StoreError> {
        let task = task_of(plan, done.task)?;
        let subject = subject_of(task);
        self.check_order(plan, subject.shape(), done.order)?;
        let mut samples = Vec::with_capacity(done.measurements.len());
        for measurement in &done.measurements {
            let candidate = candidate_of(plan, task, measurement.candidate)?;
            if !measurement.seconds.is_empty() {
                samples.push((candidate, measurement));
            }
        }
        self.write_launch(plan.launch, |transaction| {
            let known: bool = transaction
                .prepare_cached(
                    "SELECT EXISTS (SELECT 1 FROM task WHERE launch = ?1 AND number = ?2)",
                )?
                .query_row([plan.launch, done.task], |row| row.get(0))?;
            if known {
                return Ok(false);
            }
            let row = TaskRow {
                launch: plan.launch,
                number: done.task,
                subject: &subject,
                pattern: pattern_of(task),
                elapsed_seconds: done.elapsed_seconds,
                spent: done.spent,
            };
            insert_task(transaction, row)?;
            insert_order(transaction, plan.launch, subject.shape(), done.order)?;
            let mut insert = transaction.prepare_cached(
                "INSERT INTO sample VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            )?;
            for (candidate, measurement) in samples {
                let named = intern_definition(transaction, Interned::Candidate, candidate)?;
                insert.execute(params![
                    plan.launch,
                    done.task,
                    measurement.candidate,
                    named,
                    measurement.warmup,
                    measurement.batch,
                    Repetitions::encode(&measurement.seconds),
                    Places::encode(&measurement.invalid),
                    measurement.residual_seconds,
                    measurement.left.map(Json)
                ])?;
            }
            Ok(true)
        })
    }

    /// Runs `work` in a transaction if the launch has been begun.
    fn write_launch(
        &mut self,
        launch: u32,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<bool>,
    ) -> Result<bool, StoreError> {
        let changed = self.write_in_transaction(|transaction| {
            let begun = transaction
                .prepare_cached("SELECT 1 FROM launch WHERE number = ?1")?
                .query_row([launch], |_| Ok(()))
                .optional()?;
            begun.map(|()| work(transaction)).transpose()
        })?;
        changed.ok_or_else(|| StoreError::NotUnderWay {
            path: self.path().to_owned(),
            launch,
        })
    }
}

/// The row of a task.
pub(crate) struct TaskRow<'s> {
    pub(crate) launch: u32,
    /// The number of the task in its launch.
    pub(crate) number: u32,
    pub(crate) subject: &'s Subject,
    pub(crate) pattern: Pattern,
    pub(crate) elapsed_seconds: f64,
    /// The parts of this time.
    pub(crate) spent: Option<TimeBreakdown>,
}

/// Adds the row of a task.
pub(crate) fn insert_task(
    transaction: &Transaction<'_>,
    row: TaskRow<'_>,
) -> rusqlite::Result<usize> {
    let subject = intern_definition(transaction, Interned::Subject, row.subject)?;
    transaction
        .prepare_cached("INSERT INTO task VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
        .execute(params![
            row.launch,
            row.number,
            subject,
            row.elapsed_seconds,
            row.spent.map(Json),
            pattern_column(row.pattern)
        ])
}

/// A pattern as stored in its column: NULL where calls began together.
pub(crate) fn pattern_column(pattern: Pattern) -> Option<Json<Pattern>> {
    (!pattern.is_together()).then_some(Json(pattern))
}

/// The tables of definitions.
#[derive(Clone, Copy)]
pub(crate) enum Interned {
    Subject,
    Candidate,
}

/// The id of a definition, which is added if it is new.
pub(crate) fn intern_definition<T: Serialize>(
    transaction: &Transaction<'_>,
    table: Interned,
    definition: &T,
) -> rusqlite::Result<i64> {
    let table = match table {
        Interned::Subject => "subject",
        Interned::Candidate => "candidate",
    };
    let known = transaction
        .prepare_cached(&format!("SELECT id FROM {table} WHERE definition = ?1"))?
        .query_row([Json(definition)], |row| row.get(0))
        .optional()?;
    match known {
        Some(id) => Ok(id),
        None => transaction
            .prepare_cached(&format!("INSERT INTO {table} (definition) VALUES (?1)"))?
            .insert([Json(definition)]),
    }
}

fn task_of(plan: &Plan, id: u32) -> Result<&PlannedTask, StoreError> {
    plan.tasks
        .iter()
        .find(|task| task.id == id)
        .ok_or_else(|| StoreError::Unplanned {
            launch: plan.launch,
            what: format!("reported task {id}, which its plan does not have"),
        })
}

fn subject_of(task: &PlannedTask) -> Subject {
    match &task.work {
        PlannedWork::Compare { cell, .. } => Subject::Cell(*cell),
        PlannedWork::Experiment(experiment) => Subject::Experiment(*experiment),
    }
}

fn pattern_of(task: &PlannedTask) -> Pattern {
    match &task.work {
        PlannedWork::Compare { .. } => task.pattern,
        PlannedWork::Experiment(_) => Pattern::Together,
    }
}

fn candidate_of<'a>(
    plan: &Plan,
    task: &'a PlannedTask,
    index: u32,
) -> Result<&'a Candidate, StoreError> {
    let candidates = match &task.work {
        PlannedWork::Compare { candidates, .. } => candidates.as_slice(),
        PlannedWork::Experiment(_) => &[Candidate::Default],
    };
    usize::try_from(index)
        .ok()
        .and_then(|index| candidates.get(index))
        .ok_or_else(|| StoreError::Unplanned {
            launch: plan.launch,
            what: format!(
                "reported candidate {index} of task {}, which has {}",
                task.id,
                candidates.len()
            ),
        })
}

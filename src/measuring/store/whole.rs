//! Launches and their samples with all that the store knows about them, one launch at a time.

use std::collections::BTreeMap;

use rusqlite::OptionalExtension;
use rusqlite::types::Type;
use vocabulary::bounds::SPAN;
use vocabulary::{Candidate, CommShape, Elimination, Pattern, RankOrder, Subject};
use wire::LaunchStart;

use crate::columns::{
    Json, Places, Repetitions, damaged_column, number_within, shape_from_columns,
};
use crate::query::is_possible;
use crate::{Store, StoreError};

/// The repetitions of one candidate in one measurement, with the invalid ones.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredSample {
    /// The number of the measurement in the plan of its launch, from 0.
    pub measurement: u32,
    /// The pattern of its calls; [`Pattern::Together`] for experiments, which have patterns of their own.
    pub pattern: Pattern,
    /// The measured subject.
    pub subject: Subject,
    /// The candidate; [`Candidate::Default`] for experiments.
    pub candidate: Candidate,
    /// Calls before the first repetition, which were not timed.
    pub warmup: u32,
    /// Calls in a repetition.
    pub batch: u32,
    /// Seconds per call, one entry per repetition, in the order they were taken.
    pub seconds: Vec<f64>,
    /// The invalid repetitions: ascending indices into `seconds`.
    pub invalid: Vec<u32>,
    /// The largest disagreement of the ranks' clocks; `None` without a global clock.
    pub residual_seconds: Option<f64>,
    /// Set if the candidate left early.
    pub left: Option<Elimination>,
}

impl Store {
    /// All samples of a launch, by measurement and place of the candidate in it.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] for a row that cannot be understood.
    pub fn samples_of_launch(&self, launch: u32) -> Result<Vec<StoredSample>, StoreError> {
        let query = "SELECT task.number, task.pattern, subject.definition, candidate.definition,
                            warmup, batch, seconds, invalid, residual_seconds, \"left\"
                     FROM sample
                     JOIN task ON task.launch = sample.launch AND task.number = sample.task
                     JOIN subject ON subject.id = task.subject
                     JOIN candidate ON candidate.id = sample.candidate
                     WHERE sample.launch = ?1
                     ORDER BY sample.task, sample.position";
        self.query_rows(query, [launch], |row| {
            let pattern: Option<Json<Pattern>> = row.get(1)?;
            let (Json(subject), Json(candidate)) = (row.get(2)?, row.get(3)?);
            if !is_possible(&subject, &candidate) {
                let wrong = format!("{candidate} was never measured in {subject}");
                return Err(damaged_column(3, Type::Text, wrong));
            }
            let Repetitions(seconds) = row.get(6)?;
            let Places(invalid) = row.get(7)?;
            let residual: Option<f64> = row.get(8)?;
            let residual = residual.map(|_| number_within(row, 8, &SPAN));
            let left: Option<Json<Elimination>> = row.get(9)?;
            Ok(StoredSample {
                measurement: row.get(0)?,
                pattern: pattern.map(|Json(pattern)| pattern).unwrap_or_default(),
                subject,
                candidate,
                warmup: row.get(4)?,
                batch: row.get(5)?,
                seconds,
                invalid,
                residual_seconds: residual.transpose()?,
                left: left.map(|Json(left)| left),
            })
        })
    }

    /// The environment that a launch reported; `None` if it has not reported one.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] for a row that cannot be understood.
    pub fn environment_of_launch(&self, launch: u32) -> Result<Option<LaunchStart>, StoreError> {
        let query = "SELECT environment FROM launch WHERE number = ?1";
        let found: Option<Option<Json<LaunchStart>>> = self.run_query(|connection| {
            connection
                .query_row(query, [launch], |row| row.get(0))
                .optional()
        })?;
        Ok(found.flatten().map(|Json(start)| start))
    }

    /// The order of a launch's ranks on their nodes, by shape, as far as it is known.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] for a row that cannot be understood.
    pub fn rank_orders_of_launch(
        &self,
        launch: u32,
    ) -> Result<BTreeMap<CommShape, RankOrder>, StoreError> {
        let query = "SELECT nodes, ppn, rank_order FROM rank_order WHERE launch = ?1";
        self.query_rows(query, [launch], |row| {
            let Json(order) = row.get(2)?;
            Ok((shape_from_columns(row, 0)?, order))
        })
    }
}

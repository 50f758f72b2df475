//! The cost of measuring.

use std::collections::{BTreeMap, HashMap};

use rusqlite::params;
use vocabulary::bounds::SPAN;
use vocabulary::{Cell, Library, Pattern, Purpose, Subject};
use wire::TimeBreakdown;

use crate::columns::{Json, number_within};
use crate::ingest::pattern_column;
use crate::query::{find_definition, launches_for_purpose, library_parameters, load_definitions};
use crate::{LaunchOutcome, Store, StoreError};

impl Store {
    /// Wall-clock seconds spent in completed tasks of a library, warm-up and synchronisation included, in launches for
    /// `purpose`, or in all launches without one.
    pub fn measuring_seconds(
        &self,
        library: &Library,
        purpose: Option<Purpose>,
    ) -> Result<f64, StoreError> {
        let which = purpose.map_or("TRUE".to_owned(), launches_for_purpose);
        self.run_query(|connection| {
            connection.query_row(
                &format!(
                    "SELECT total(elapsed_seconds)
                     FROM task JOIN launch ON launch.number = task.launch
                     WHERE library_name = ?1 AND library_version = ?2 AND {which}"
                ),
                library_parameters(library),
                |row| number_within(row, 0, &SPAN),
            )
        })
    }

    /// The seconds per candidate in each task of a library's confirming launches with one pattern of calls: the
    /// task's seconds, warm-up and synchronisation included, divided by the number of its candidates.
    pub fn confirming_turns(
        &self,
        library: &Library,
        pattern: Pattern,
    ) -> Result<BTreeMap<Cell, Vec<f64>>, StoreError> {
        let [name, version] = library_parameters(library);
        self.run_query(|connection| {
            let subjects: HashMap<i64, Subject> =
                load_definitions(connection, "SELECT id, definition FROM subject")?;
            let confirming = launches_for_purpose(Purpose::Confirming);
            let mut query = connection.prepare(&format!(
                "SELECT task.subject, elapsed_seconds / count(*)
                 FROM task
                 JOIN sample ON sample.launch = task.launch AND sample.task = task.number
                 JOIN launch ON launch.number = task.launch
                 WHERE library_name = ?1 AND library_version = ?2 AND task.pattern IS ?3
                     AND {confirming}
                 GROUP BY task.launch, task.number
                 ORDER BY task.launch, task.number"
            ))?;
            let mut rows = query.query(params![name, version, pattern_column(pattern)])?;
            let mut turns: BTreeMap<Cell, Vec<f64>> = BTreeMap::new();
            while let Some(row) = rows.next()? {
                if let Subject::Cell(cell) = find_definition(&subjects, row, 0)? {
                    let seconds = number_within(row, 1, &SPAN)?;
                    turns.entry(cell).or_default().push(seconds);
                }
            }
            Ok(turns)
        })
    }

    /// The time spent in completed tasks of a library and its parts, over tasks that recorded the parts; `None` if none
    /// did.
    pub fn time_breakdown(
        &self,
        library: &Library,
    ) -> Result<Option<(f64, TimeBreakdown)>, StoreError> {
        self.run_query(|connection| {
            connection.query_row(
                "SELECT total(elapsed_seconds),
                        total(json_extract(spent, '$.preparing_seconds')),
                        total(json_extract(spent, '$.starting_seconds')),
                        total(json_extract(spent, '$.calling_seconds'))
                 FROM task JOIN launch ON launch.number = task.launch
                 WHERE library_name = ?1 AND library_version = ?2 AND spent IS NOT NULL",
                library_parameters(library),
                |row| {
                    let column_seconds = |column| number_within(row, column, &SPAN);
                    let elapsed_seconds = column_seconds(0)?;
                    let spending = TimeBreakdown {
                        preparing_seconds: column_seconds(1)?,
                        starting_seconds: column_seconds(2)?,
                        calling_seconds: column_seconds(3)?,
                    };
                    Ok((elapsed_seconds > 0.0).then_some((elapsed_seconds, spending)))
                },
            )
        })
    }

    /// The seconds that the launches of a library have cost, for any campaign: the spent part of a budget.
    ///
    /// This is the larger of two sums: the seconds of all completed tasks, and the launches' wall-clock time from begin
    /// to end, which includes start-up and turns that hung or crashed. Some launches count in the second sum only with
    /// their tasks: those that have not ended or have not reported a start; interrupted ones, because the next run may
    /// have recorded their end much later; and those without a `parent_lock`, which wait in a queue first. The
    /// wall-clock time of a launch counts at most up to its deadline and one watchdog timeout. With a `purpose`, only
    /// launches for it count.
    pub fn spent_seconds(
        &self,
        library: &Library,
        purpose: Option<Purpose>,
    ) -> Result<f64, StoreError> {
        let [name, version] = library_parameters(library);
        let which = purpose.map_or("TRUE".to_owned(), launches_for_purpose);
        self.run_query(|connection| {
            connection.query_row(
                &format!(
                    "WITH cost AS (
                         SELECT (SELECT total(elapsed_seconds) FROM task
                                 WHERE task.launch = launch.number) AS tasks,
                                CASE WHEN outcome != ?3 AND environment IS NOT NULL
                                          AND json_extract(plan, '$.leash') IS NOT NULL
                                     THEN max(ended - started, 0) END AS wall,
                                json_extract(plan, '$.deadline_seconds')
                                    + json_extract(plan, '$.watchdog_seconds') AS most
                         FROM launch WHERE library_name = ?1 AND library_version = ?2 AND {which}
                     )
                     SELECT max(total(tasks),
                                total(coalesce(min(wall, coalesce(most, wall)), tasks)))
                     FROM cost"
                ),
                params![name, version, Json(LaunchOutcome::Interrupted)],
                |row| number_within(row, 0, &SPAN),
            )
        })
    }
}

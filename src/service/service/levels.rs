//! The levels of trends: what all series of a machine and library show together in the last days.
//!
//! The first request computes them, and the result is kept until a check or a validation adds points: a large site has a
//! hundred thousand points to read.

use std::collections::HashMap;
use std::sync::Mutex;

use frame::{SeriesPoint, compare_newest_level};
use rusqlite::{Connection, params};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::database::{lock_ignoring_poison, query_rows, to_timestamp};
use crate::{Service, ServiceError};

/// The days of the newest points, in milliseconds: a week of nights.
const NEWEST: i64 = 7 * 24 * 60 * 60 * 1000;
/// The newest points of a series that are read: those of a week, and four weeks before it.
const MOST_OF_SERIES: u32 = 35;
/// The newest series of a machine and library that are read.
const MOST_SERIES: u32 = 5000;

/// What the series of a machine and library show together, in the epoch of the newest points.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct TrendLevel {
    /// The machine.
    pub machine: String,
    /// `NAME-VERSION` of the MPI library.
    pub library: String,
    /// The number of the epoch.
    pub epoch: u64,
    /// The time of the epoch's first point.
    #[schema(value_type = String)]
    pub began_at: jiff::Timestamp,
    /// The time of its newest point.
    #[schema(value_type = String)]
    pub newest_at: jiff::Timestamp,
    /// The series with points that count: of the newest 5000 series.
    pub series: u64,
    /// The points that count: of the newest 35 of each series, those that were not measured while other work was running.
    pub points: u64,
    /// The series with both points of the seven days before the newest one and earlier points.
    pub compared_series: u64,
    /// The default's time in these seven days, divided by that of the earlier points: the geometric mean over the
    /// compared series. `null` if there is none.
    pub default_factor: Option<f64>,
    /// The same of the ratio of the choice's time to the default's.
    pub ratio_factor: Option<f64>,
}

/// The levels that were aggregated since points were added.
#[derive(Debug, Default)]
pub(crate) struct LevelCache(Mutex<CachedLevels>);

#[derive(Debug, Default)]
struct CachedLevels {
    /// How often levels were forgotten.
    forgotten: u64,
    by_epoch: HashMap<u64, TrendLevel>,
}

impl LevelCache {
    /// Forgets the levels of a machine, after points were added to its series.
    pub(crate) fn forget_machine(&self, machine: &str) {
        let mut cached = lock_ignoring_poison(&self.0);
        cached.forgotten += 1;
        cached.by_epoch.retain(|_, level| level.machine != machine);
    }

    fn count_forgotten(&self) -> u64 {
        lock_ignoring_poison(&self.0).forgotten
    }

    fn find_level(&self, epoch: u64) -> Option<TrendLevel> {
        lock_ignoring_poison(&self.0).by_epoch.get(&epoch).cloned()
    }

    /// Keeps a level, unless levels were forgotten since [`LevelCache::count_forgotten`] gave this number: its points may
    /// have been read before others were added.
    fn keep_level(&self, forgotten: u64, level: &TrendLevel) {
        let mut cached = lock_ignoring_poison(&self.0);
        if cached.forgotten == forgotten {
            cached.by_epoch.insert(level.epoch, level.clone());
        }
    }
}

impl Service {
    /// The levels of a machine's libraries, or of all machines, by name: only those of `readable` machines, if given.
    ///
    /// # Errors
    /// [`ServiceError::Aggregate`]; SQLite.
    pub fn list_levels(
        &self,
        readable: Option<&[String]>,
        machine: Option<&str>,
    ) -> Result<Vec<TrendLevel>, ServiceError> {
        let readable = readable.map(|names| json!(names).to_string());
        let forgotten = self.levels.count_forgotten();
        self.database.read(|connection| {
            let mut levels = Vec::new();
            for current in query_current_epochs(connection, readable.as_deref(), machine)? {
                if let Some(known) = self.levels.find_level(current.epoch) {
                    levels.push(known);
                } else if let Some(level) = aggregate_level(connection, current)? {
                    self.levels.keep_level(forgotten, &level);
                    levels.push(level);
                }
            }
            Ok(levels)
        })
    }
}

/// The epoch of the newest points of a machine and library.
struct CurrentEpoch {
    epoch: u64,
    machine: String,
    machine_row: i64,
    /// The library's name without its version, as series have it.
    library_name: String,
    library: String,
    began_at: jiff::Timestamp,
}

fn query_current_epochs(
    connection: &Connection,
    readable: Option<&str>,
    machine: Option<&str>,
) -> Result<Vec<CurrentEpoch>, ServiceError> {
    let query = "SELECT epoch.id, machine.name, machine.id, measured_epoch.library, epoch.library, began_at \
                 FROM measured_epoch JOIN epoch ON epoch.id = measured_epoch.epoch \
                 JOIN machine ON machine.id = measured_epoch.machine WHERE (?1 IS NULL OR machine.name = ?1) \
                 AND (?2 IS NULL OR machine.name IN (SELECT value FROM json_each(?2))) \
                 ORDER BY machine.name, measured_epoch.library";
    query_rows(connection, query, params![machine, readable], |row| {
        Ok(CurrentEpoch {
            epoch: row.get(0)?,
            machine: row.get(1)?,
            machine_row: row.get(2)?,
            library_name: row.get(3)?,
            library: row.get(4)?,
            began_at: to_timestamp(row.get(5)?)?,
        })
    })
}

/// The level of an epoch; `None` if no series that is read has a point in it.
fn aggregate_level(
    connection: &Connection,
    current: CurrentEpoch,
) -> Result<Option<TrendLevel>, ServiceError> {
    let points = query_newest_points(connection, &current)?;
    let compared = compare_newest_level(&points, NEWEST)?;
    let Some(newest_at) = compared.newest_at else {
        return Ok(None);
    };
    Ok(Some(TrendLevel {
        machine: current.machine,
        library: current.library,
        epoch: current.epoch,
        began_at: current.began_at,
        newest_at: to_timestamp(newest_at)?,
        series: compared.series,
        points: compared.points,
        compared_series: compared.compared_series,
        default_factor: compared.default_factor,
        ratio_factor: compared.ratio_factor,
    }))
}

/// The newest points of the newest series, a bounded number however long the history is.
fn query_newest_points(
    connection: &Connection,
    current: &CurrentEpoch,
) -> Result<Vec<SeriesPoint>, ServiceError> {
    let newest_series =
        "SELECT id FROM series WHERE machine = ?1 AND library = ?2 ORDER BY id DESC LIMIT ?3";
    let of_library = params![current.machine_row, current.library_name, MOST_SERIES];
    let numbers: Vec<u64> = query_rows(connection, newest_series, of_library, |row| row.get(0))?;
    // The table is in the order of the tasks' numbers, which is nearly that of time: no sorting.
    let newest_points = "SELECT at, seconds, default_seconds, busy FROM point WHERE series = ?1 AND epoch = ?2 \
                         ORDER BY task DESC LIMIT ?3";
    let mut points = Vec::new();
    for series in numbers {
        let of_series = params![series, current.epoch, MOST_OF_SERIES];
        let newest = query_rows(connection, newest_points, of_series, |row| {
            Ok(SeriesPoint {
                series,
                at: row.get(0)?,
                seconds: row.get(1)?,
                default_seconds: row.get(2)?,
                is_busy: row.get(3)?,
            })
        })?;
        points.extend(newest);
    }
    Ok(points)
}

//! Trends: how the times of a table's choices and of the library's default go on, from one check or validation to the
//! next.
//!
//! A series is a choice at a size. Each check and validation adds a point to it, with its epoch: the fingerprint of the
//! machine and the library that was measured. Points are compared within an epoch only, since a new kernel or library
//! may well change times. A series is examined for two quantities: the ratio of the choice's time to the default's, and
//! the default's time. [`statistics::ChangeDetector`] says when one of them has changed, and how often it is wrong.

use std::sync::LazyLock;

use answers::{MeasuredMachine, TrendOutcome, TrendPoint, TrendQuantity};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use statistics::{ChangeDetector, ChangeRule, median};
use utoipa::ToSchema;
use vocabulary::units::format_bytes;

use crate::database::{json_column, now_milliseconds, query_rows, to_timestamp};
use crate::findings::{NewChange, record_changes};
use crate::schedules::{mark_fingerprint_change, mark_suspicion, wants_suspicions};
use crate::{Digest, FindingCause, Page, Service, ServiceError, Slice, TaskId};

/// The looks at series in which one false finding is tolerated: those of a year at 100 series, each night.
const LOOKS: f64 = 365.0 * 100.0;
/// What a look at a series examines. The quantities share the tolerated findings equally.
const QUANTITIES: [TrendQuantity; 2] = [TrendQuantity::Ratio, TrendQuantity::Default];
/// The smallest change that is a finding, as a share: the materiality that campaigns have by default. That of a campaign
/// does not count, since series outlive campaigns.
const LEAST_CHANGE: f64 = 0.05;
/// The probability that a look suspects a change of a series that has none.
const SUSPICIONS: f64 = 0.002;
/// The points of a level that are read: more than the detector compares.
const MOST_COMPARED: u32 = 160;
/// The most points of a series that are shown.
const MOST_SHOWN: u32 = 2000;

static DETECTOR: LazyLock<ChangeDetector> = LazyLock::new(|| {
    ChangeDetector::new(ChangeRule {
        false_alarms_per_look: 1.0 / (LOOKS * QUANTITIES.len() as f64),
        suspicions_per_look: SUSPICIONS,
        least_size: LEAST_CHANGE.ln_1p(),
    })
});

/// A series of points.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct TrendSeries {
    /// Its number.
    pub id: u64,
    /// The machine.
    pub machine: String,
    /// The name of the MPI library, without its version.
    pub library: String,
    /// The way in which the choice was put in place: `driver`, `export` or `force`.
    pub via: String,
    /// The collective.
    pub collective: String,
    /// Nodes.
    pub nodes: u32,
    /// Ranks per node.
    pub ppn: u32,
    /// The size of the call in bytes.
    pub bytes: u64,
    /// The operators for which the table chooses this.
    pub operators: String,
    /// The full name of the table's choice.
    pub chosen: String,
    /// The distribution of the data of an irregular collective, as in `skewed`.
    pub distribution: Option<String>,
}

impl TrendSeries {
    /// The series in a few words, as in `allreduce 1x2 64K: allreduce/ring` and
    /// `alltoallv 1x2 64K, skewed: alltoallv/linear`.
    pub fn describe(&self) -> String {
        let Self {
            collective,
            nodes,
            ppn,
            operators,
            chosen,
            distribution,
            ..
        } = self;
        let size = format_bytes(self.bytes);
        let class = match operators.as_str() {
            "any" | "" => String::new(),
            some => format!(", {some}"),
        };
        let distribution = distribution.as_ref();
        let data = distribution.map_or_else(String::new, |name| format!(", {name}"));
        format!("{collective} {nodes}x{ppn} {size}{class}{data}: {chosen}")
    }
}

/// A point of a series.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct MeasuredNight {
    /// The task that measured it.
    pub task: TaskId,
    /// The number of its epoch.
    pub epoch: u64,
    /// The time of the task's end.
    #[schema(value_type = String)]
    pub at: jiff::Timestamp,
    /// The time of the table's choice.
    pub seconds: f64,
    /// The time of the library's default.
    pub default_seconds: f64,
    /// Whether other work was running; then the point is not compared with others.
    pub busy: bool,
}

/// What a machine was for some time.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Epoch {
    /// Its number.
    pub id: u64,
    /// `NAME-VERSION` of the MPI library.
    pub library: String,
    /// The machine that was measured: `cpu`, `kernel`, `library_text`, `transports`.
    #[schema(value_type = Object)]
    pub measured: MeasuredMachine,
    /// The time of its first point.
    #[schema(value_type = String)]
    pub began_at: jiff::Timestamp,
}

/// A series with its points.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Trend {
    /// The series.
    pub series: TrendSeries,
    /// The epochs of the series, in the order in which they began.
    pub epochs: Vec<Epoch>,
    /// The newest 2000 points by time, oldest first.
    pub points: Vec<MeasuredNight>,
    /// The task of the first point of a new level of the ratio that the newest points suggest; further points will show
    /// whether it is a change.
    pub suspected_since: Option<TaskId>,
    /// The numbers of the findings that have changes of this series, newest first.
    pub findings: Vec<u64>,
}

impl Service {
    /// The series of a machine, or of all machines, newest first: only those of `readable` machines, if given.
    ///
    /// # Errors
    /// SQLite.
    pub fn list_series(
        &self,
        readable: Option<&[String]>,
        machine: Option<&str>,
        slice: Slice,
    ) -> Result<Page<TrendSeries>, ServiceError> {
        let readable = readable.map(|names| json!(names).to_string());
        self.database.read(|connection| {
            let query = format!(
                "{SELECT} WHERE (?1 IS NULL OR machine.name = ?1) \
                 AND (?2 IS NULL OR machine.name IN (SELECT value FROM json_each(?2))) \
                 AND series.id < ?3 ORDER BY series.id DESC LIMIT ?4"
            );
            let (end, most) = (slice.upper_bound(), slice.rows_to_query());
            let bounds = params![machine, readable, end, most];
            let series = query_rows(connection, &query, bounds, series_from_row)?;
            Ok(slice.to_page(series, |series| series.id))
        })
    }

    /// A series with its points.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`]; SQLite.
    pub fn read_trend(&self, id: u64) -> Result<Trend, ServiceError> {
        // No row has an id that SQLite cannot hold.
        let id_of_row = i64::try_from(id).unwrap_or(i64::MAX);
        self.database.read(|connection| {
            let select = format!("{SELECT} WHERE series.id = ?1");
            let series = connection
                .query_row(&select, [id_of_row], series_from_row)
                .optional()?;
            let series = series.ok_or_else(|| ServiceError::not_found("series", id))?;
            let newest = "SELECT task, epoch, at, seconds, default_seconds, busy FROM point WHERE series = ?1 \
                          ORDER BY at DESC, task DESC, epoch DESC LIMIT ?2";
            let shown = params![id, MOST_SHOWN];
            let mut points = query_rows(connection, newest, shown, point_from_row)?;
            points.reverse();
            let of_points = "SELECT id, library, measured, began_at FROM epoch \
                             WHERE id IN (SELECT epoch FROM point WHERE series = ?1) ORDER BY began_at, id";
            let epochs = query_rows(connection, of_points, [id], |row| {
                Ok(Epoch {
                    id: row.get(0)?,
                    library: row.get(1)?,
                    measured: json_column(row, 2)?,
                    began_at: to_timestamp(row.get(3)?)?,
                })
            })?;
            let of_changes =
                "SELECT DISTINCT finding FROM change WHERE series = ?1 ORDER BY finding DESC";
            let findings = query_rows(connection, of_changes, [id], |row| row.get(0))?;
            let suspected_since = match points.last() {
                Some(last) => suspect_change(connection, id_of_row, last.epoch as i64)?,
                None => None,
            };
            Ok(Trend {
                series,
                epochs,
                points,
                suspected_since,
                findings,
            })
        })
    }
}

const SELECT: &str = "SELECT series.id, machine.name, library, via, collective, nodes, ppn, bytes, operators, chosen, \
                      distribution FROM series JOIN machine ON machine.id = series.machine";

/// The series in the first eleven columns.
pub(crate) fn series_from_row(row: &Row<'_>) -> rusqlite::Result<TrendSeries> {
    let distribution: String = row.get(10)?;
    Ok(TrendSeries {
        id: row.get(0)?,
        machine: row.get(1)?,
        library: row.get(2)?,
        via: row.get(3)?,
        collective: row.get(4)?,
        nodes: row.get(5)?,
        ppn: row.get(6)?,
        bytes: row.get(7)?,
        operators: row.get(8)?,
        chosen: row.get(9)?,
        distribution: Some(distribution).filter(|name| !name.is_empty()),
    })
}

fn point_from_row(row: &Row<'_>) -> rusqlite::Result<MeasuredNight> {
    Ok(MeasuredNight {
        task: row.get(0)?,
        epoch: row.get(1)?,
        at: to_timestamp(row.get(2)?)?,
        seconds: row.get(3)?,
        default_seconds: row.get(4)?,
        busy: row.get(5)?,
    })
}

/// Adds the points of a check or validation, and records the changes that they show. An outcome that cannot be read
/// has no points.
pub(crate) fn record_points(
    transaction: &Transaction<'_>,
    machine: i64,
    task: TaskId,
    outcome: &Value,
) -> Result<(), ServiceError> {
    let read = TrendOutcome::deserialize(outcome).unwrap_or_default();
    // Other sizes are drawn at random each time, so that they are no series.
    let measured = read.points.iter().filter(|point| point.place != "probe");
    let measured: Vec<MeasuredPair<'_>> = measured.filter_map(MeasuredPair::of_point).collect();
    if measured.is_empty() {
        return Ok(());
    }
    let epoch = find_or_begin_epoch(transaction, machine, &read)?;
    mark_fingerprint_change(transaction, machine, library_name(&read.library), epoch)?;
    // The only warnings about launches are those of other work.
    let is_busy = !read.warnings.is_empty();
    let wants_suspicions = !is_busy && wants_suspicions(transaction, machine)?;
    let (mut changes, mut is_suspected) = (Vec::new(), false);
    for pair in measured {
        let series = find_or_add_series(transaction, machine, &read, pair.point)?;
        let mut insert = transaction.prepare_cached(
            "INSERT OR IGNORE INTO point (series, epoch, task, at, seconds, default_seconds, busy) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        // A size may be both measured for the table and a threshold of it; its first point counts.
        let added = insert.execute(params![
            series,
            epoch,
            task,
            now_milliseconds(),
            pair.seconds,
            pair.default_seconds,
            is_busy
        ])?;
        if added > 0 && !is_busy {
            changes.extend(find_new_changes(transaction, series, epoch, task)?);
            is_suspected |=
                wants_suspicions && suspect_change(transaction, series, epoch)?.is_some();
        }
    }
    if is_suspected {
        mark_suspicion(transaction, machine)?;
    }
    record_changes(transaction, epoch, &changes)
}

/// The name of a library without its version.
fn library_name(library: &str) -> &str {
    library.split_once('-').map_or(library, |(name, _)| name)
}

/// A point with both times.
struct MeasuredPair<'a> {
    point: &'a TrendPoint,
    seconds: f64,
    default_seconds: f64,
}

impl<'a> MeasuredPair<'a> {
    /// `None` if a time is not known, or not positive.
    fn of_point(point: &'a TrendPoint) -> Option<Self> {
        let positive =
            |seconds: Option<f64>| seconds.filter(|value| value.is_finite() && *value > 0.0);
        Some(Self {
            point,
            seconds: positive(point.seconds)?,
            default_seconds: positive(point.default_seconds)?,
        })
    }
}

/// The epoch of the machine and library that were measured; a fingerprint that returns continues its epoch.
fn find_or_begin_epoch(
    transaction: &Transaction<'_>,
    machine: i64,
    outcome: &TrendOutcome,
) -> Result<i64, ServiceError> {
    let measured = json!(outcome.machine.clone().unwrap_or_default()).to_string();
    let fingerprint = Digest::of_bytes(format!("{}\n{measured}", outcome.library).as_bytes());
    transaction.execute(
        "INSERT OR IGNORE INTO epoch (machine, library, fingerprint, measured, began_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            machine,
            outcome.library,
            fingerprint.as_str(),
            measured,
            now_milliseconds()
        ],
    )?;
    let find = "SELECT id FROM epoch WHERE machine = ?1 AND fingerprint = ?2";
    let of_both = params![machine, fingerprint.as_str()];
    Ok(transaction.query_row(find, of_both, |row| row.get(0))?)
}

fn find_or_add_series(
    transaction: &Transaction<'_>,
    machine: i64,
    outcome: &TrendOutcome,
    point: &TrendPoint,
) -> Result<i64, ServiceError> {
    let library = library_name(&outcome.library);
    // Checks have the measuring program force the choices.
    let via = match &*outcome.via {
        "" => "driver",
        via => via,
    };
    let key = params![
        machine,
        library,
        via,
        point.collective,
        point.nodes,
        point.ppn,
        point.bytes,
        point.operators,
        point.chosen,
        point.distribution.as_deref().unwrap_or_default()
    ];
    let mut add = transaction.prepare_cached(
        "INSERT OR IGNORE INTO series (machine, library, via, collective, nodes, ppn, bytes, operators, chosen, \
         distribution) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    add.execute(key)?;
    let mut find = transaction.prepare_cached(
        "SELECT id FROM series WHERE machine = ?1 AND library = ?2 AND via = ?3 AND collective = ?4 AND nodes = ?5 \
         AND ppn = ?6 AND bytes = ?7 AND operators = ?8 AND chosen = ?9 AND distribution = ?10",
    )?;
    Ok(find.query_row(key, |row| row.get(0))?)
}

/// The points of the newest level of a series in an epoch, oldest first, without those of a busy machine.
///
/// The level begins with the newest change of the series itself. If somebody has accepted a later change of the machine, it
/// begins with that one instead, although it may have been found in other series: older points are of the machine as it was,
/// and would show the accepted change again in a series that was not measured in between.
fn read_level(
    connection: &Connection,
    series: i64,
    epoch: i64,
    quantity: TrendQuantity,
) -> Result<Vec<MeasuredNight>, ServiceError> {
    let mut newest = connection.prepare_cached(
        "SELECT began_at, first_task FROM (SELECT began_at, first_task FROM change \
         WHERE series = ?1 AND epoch = ?2 AND quantity = ?3 ORDER BY id DESC LIMIT 1) \
         UNION ALL SELECT began_at, first_task FROM (SELECT began_at, first_task FROM change \
         JOIN finding ON finding.id = change.finding WHERE finding.epoch = ?2 AND cause = 'machine' AND state = 'accepted' \
         AND quantity = ?3 ORDER BY began_at DESC, first_task DESC LIMIT 1) \
         ORDER BY began_at DESC, first_task DESC LIMIT 1",
    )?;
    let of_quantity = params![series, epoch, quantity.to_string()];
    let began: Option<(i64, TaskId)> = newest
        .query_row(of_quantity, |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (began_at, first_task) = began.unwrap_or((i64::MIN, 0));
    // Tasks may end in another order than they were submitted, which is that of their numbers.
    let query = "SELECT task, epoch, at, seconds, default_seconds, busy FROM point \
                 WHERE series = ?1 AND epoch = ?2 AND busy = 0 AND (at, task) >= (?3, ?4) \
                 ORDER BY at DESC, task DESC LIMIT ?5";
    let of_level = params![series, epoch, began_at, first_task, MOST_COMPARED];
    let mut points = query_rows(connection, query, of_level, point_from_row)?;
    points.reverse();
    Ok(points)
}

/// The logarithms of a quantity of points.
fn logarithms(points: &[MeasuredNight], quantity: TrendQuantity) -> Vec<f64> {
    let values = points.iter().map(|point| match quantity {
        TrendQuantity::Ratio => (point.seconds / point.default_seconds).ln(),
        TrendQuantity::Default => point.default_seconds.ln(),
    });
    values.collect()
}

/// The changes that the newest point of a series shows.
fn find_new_changes(
    transaction: &Transaction<'_>,
    series: i64,
    epoch: i64,
    task: TaskId,
) -> Result<Vec<NewChange>, ServiceError> {
    let mut found = Vec::new();
    for quantity in QUANTITIES {
        let level = read_level(transaction, series, epoch, quantity)?;
        let values = logarithms(&level, quantity);
        let Some(change) = DETECTOR.look_at_newest(&values, 0) else {
            continue;
        };
        let shift = change.after - change.before;
        let defaults = logarithms(&level, TrendQuantity::Default);
        let default_shift = shift_between(&defaults, change.first);
        // If the default changed by less than half as much, it is not what made the ratio change.
        let is_default =
            quantity == TrendQuantity::Default || default_shift.abs() > shift.abs() / 2.0;
        let first = &level[change.first];
        found.push(NewChange {
            series,
            quantity,
            before: change.before.exp(),
            after: change.after.exp(),
            first_task: first.task,
            began_at: first.at.as_millisecond(),
            found_by: task,
            cause: if is_default {
                FindingCause::Machine
            } else {
                FindingCause::Algorithm
            },
            // If the default alone becomes slower, the ratio becomes smaller.
            is_slower: if is_default {
                default_shift > 0.0
            } else {
                shift > 0.0
            },
        });
    }
    Ok(found)
}

/// The difference between the medians of the values from `first` on and of those before it.
fn shift_between(values: &[f64], first: usize) -> f64 {
    let (before, after) = values.split_at(first);
    match (median(before), median(after)) {
        (Some(before), Some(after)) => after - before,
        _ => 0.0,
    }
}

/// The task with which a new level of the ratio may have begun.
fn suspect_change(
    connection: &Connection,
    series: i64,
    epoch: i64,
) -> Result<Option<TaskId>, ServiceError> {
    let level = read_level(connection, series, epoch, TrendQuantity::Ratio)?;
    let values = logarithms(&level, TrendQuantity::Ratio);
    let suspected = DETECTOR.suspect_newest(&values, 0);
    Ok(suspected.map(|first| level[first].task))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::Database;
    use crate::disk::Disk;

    /// A database with a machine.
    fn database() -> (tempfile::TempDir, Database) {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = Disk::new(folder.path(), crate::problems::Problems::default());
        let database = Database::open(&folder.path().join("service.db"), disk).expect("opened");
        let add = "INSERT INTO machine (id, name) VALUES (1, 'hydra')";
        database.execute(add, []).expect("added");
        (folder, database)
    }

    /// What a check of two sizes measures in a night: the times of its choices, and those of the default.
    #[derive(Clone, Copy)]
    struct Night {
        kernel: &'static str,
        chosen: [f64; 2],
        defaults: [f64; 2],
        is_busy: bool,
    }

    const USUAL: Night = Night {
        kernel: "6.1.0-10",
        chosen: [1.0, 2.0],
        defaults: [2.0, 3.0],
        is_busy: false,
    };

    /// Records a night whose times differ from those given by up to 1 %.
    fn record(database: &Database, number: u64, night: Night) {
        let task = submit(database);
        record_for(database, task, number, night);
    }

    /// Adds a task that is to check a table.
    fn submit(database: &Database) -> TaskId {
        let added = database.write(|transaction| {
            transaction.execute(
                "INSERT INTO task (kind, machine, request, state, reason, actor, submitted_at) \
                 VALUES ('check', 1, '{}', 'done', '', 'me', 0)",
                [],
            )?;
            Ok(transaction.last_insert_rowid() as u64)
        });
        added.expect("added")
    }

    /// Records a night as measured by a task.
    fn record_for(database: &Database, task: TaskId, number: u64, night: Night) {
        let noise = 1.0 + (number * 7 % 11) as f64 / 1000.0;
        let point = |index: usize| {
            json!({
                "collective": "bcast", "nodes": 1, "ppn": 2, "bytes": 64 << index, "operators": "any",
                "place": "measured", "chosen": "bcast/chain",
                "seconds": night.chosen[index] * noise, "default_seconds": night.defaults[index],
            })
        };
        let mut probe = point(0);
        probe["place"] = json!("probe");
        probe["bytes"] = json!(65);
        let outcome = json!({
            "library": "openmpi-4.1.4",
            "machine": {"cpu": "c", "kernel": night.kernel, "library_text": "l", "transports": []},
            "warnings": if night.is_busy { vec!["the machine was busy"] } else { Vec::new() },
            "points": [point(0), point(1), probe, {"collective": "bcast", "seconds": null}],
        });
        let written = database.write(|transaction| record_points(transaction, 1, task, &outcome));
        written.expect("recorded");
    }

    /// A finding, with its changes as in `1 ratio`.
    #[derive(Debug, PartialEq)]
    struct Shown {
        cause: String,
        is_slower: bool,
        changes: String,
    }

    fn shown(cause: &str, is_slower: bool, changes: &str) -> Shown {
        Shown {
            cause: cause.to_owned(),
            is_slower,
            changes: changes.to_owned(),
        }
    }

    fn findings(database: &Database) -> Vec<Shown> {
        let read = database.read(|connection| {
            let query = "SELECT cause, slower, (SELECT group_concat(series || ' ' || quantity, ', ' ORDER BY series, \
                         quantity) FROM change WHERE finding = finding.id) FROM finding ORDER BY id";
            query_rows(connection, query, [], |row| {
                Ok(Shown {
                    cause: row.get(0)?,
                    is_slower: row.get(1)?,
                    changes: row.get(2)?,
                })
            })
        });
        read.expect("read")
    }

    fn record_nights(database: &Database, numbers: std::ops::Range<u64>, night: Night) {
        numbers.for_each(|number| record(database, number, night));
    }

    #[test]
    fn a_slower_algorithm_and_a_slower_machine_are_different_findings() {
        let (_folder, database) = database();
        record_nights(&database, 0..40, USUAL);
        assert_eq!(findings(&database), []);
        let slower = Night {
            chosen: [1.2, 2.0],
            ..USUAL
        };
        record_nights(&database, 40..47, slower);
        let algorithm = || shown("algorithm", true, "1 ratio");
        assert_eq!(findings(&database), [algorithm()]);
        // Both times of both sizes grow: their ratios are as before.
        let everything = Night {
            chosen: [1.5, 2.5],
            defaults: [2.5, 3.75],
            ..USUAL
        };
        record_nights(&database, 47..90, everything);
        let machine = shown("machine", true, "1 default, 2 default");
        assert_eq!(findings(&database), [algorithm(), machine]);
    }

    #[test]
    fn a_faster_default_is_a_finding_of_the_machine() {
        let (_folder, database) = database();
        record_nights(&database, 0..40, USUAL);
        let faster = Night {
            defaults: [1.6, 3.0],
            ..USUAL
        };
        record_nights(&database, 40..50, faster);
        let machine = shown("machine", false, "1 default, 1 ratio");
        assert_eq!(findings(&database), [machine]);
    }

    /// The second size is not measured while the machine changes, as when a table chooses something else for some time.
    #[test]
    fn an_accepted_change_of_the_machine_is_the_new_level_of_every_series() {
        for (state, is_found_again) in [("open", true), ("fixed", true), ("accepted", false)] {
            let (_folder, database) = database();
            record_nights(&database, 0..40, USUAL);
            let slower = Night {
                chosen: [1.25, 2.5],
                defaults: [2.5, 3.75],
                ..USUAL
            };
            let without_second = Night {
                chosen: [1.25, f64::NAN],
                ..slower
            };
            record_nights(&database, 40..60, without_second);
            let first = || shown("machine", true, "1 default");
            assert_eq!(findings(&database), [first()]);
            let decided = database.execute("UPDATE finding SET state = ?1", [state]);
            decided.expect("decided");
            record_nights(&database, 60..90, slower);
            let changes: Vec<String> = findings(&database)
                .into_iter()
                .map(|finding| finding.changes)
                .collect();
            let has_second = changes.iter().any(|changes| changes.contains("2 default"));
            assert_eq!(has_second, is_found_again, "{state}: {changes:?}");
        }
    }

    #[test]
    fn another_kernel_begins_an_epoch_and_nothing_is_found_across_epochs() {
        let (_folder, database) = database();
        record_nights(&database, 0..40, USUAL);
        let updated = Night {
            kernel: "6.1.0-11",
            chosen: [3.0, 6.0],
            ..USUAL
        };
        record_nights(&database, 40..80, updated);
        // The former kernel continues its epoch.
        record_nights(&database, 80..90, USUAL);
        assert_eq!(findings(&database), []);
        let count = |query: &str| {
            let read = database.read(|connection| {
                let number: u32 = connection.query_row(query, [], |row| row.get(0))?;
                Ok(number)
            });
            read.expect("read")
        };
        assert_eq!(count("SELECT count(*) FROM epoch"), 2);
        // Probes and points without times are no series.
        assert_eq!(count("SELECT count(*) FROM series"), 2);
        assert_eq!(count("SELECT count(*) FROM point"), 180);
    }

    #[test]
    fn nights_with_other_work_are_kept_and_not_compared() {
        let (_folder, database) = database();
        record_nights(&database, 0..40, USUAL);
        let busy = Night {
            chosen: [3.0, 6.0],
            is_busy: true,
            ..USUAL
        };
        record_nights(&database, 40..80, busy);
        record_nights(&database, 80..85, USUAL);
        assert_eq!(findings(&database), []);
        let kept = database.read(|connection| {
            let busy_points = "SELECT count(*) FROM point WHERE busy";
            let number: u32 = connection.query_row(busy_points, [], |row| row.get(0))?;
            Ok(number)
        });
        assert_eq!(kept.expect("read"), 80);
    }

    #[test]
    fn a_few_slow_nights_are_a_suspicion() {
        let (_folder, database) = database();
        record_nights(&database, 0..60, USUAL);
        let suspected = || {
            let read = database.read(|connection| suspect_change(connection, 1, 1));
            read.expect("read")
        };
        assert_eq!(suspected(), None);
        let slower = Night {
            chosen: [1.2, 2.0],
            ..USUAL
        };
        record_nights(&database, 60..63, slower);
        assert_eq!((suspected(), findings(&database)), (Some(61), vec![]));
        record_nights(&database, 63..67, slower);
        assert_eq!((suspected(), findings(&database).len()), (None, 1));
    }

    #[test]
    fn points_follow_each_other_by_time_and_not_by_the_numbers_of_tasks() {
        let (_folder, database) = database();
        // They wait in the queue while later ones are carried out.
        let waiting: Vec<TaskId> = (0..7).map(|_| submit(&database)).collect();
        record_nights(&database, 0..60, USUAL);
        let long_ago = database.execute("UPDATE point SET at = task", []);
        long_ago.expect("changed");
        let slower = Night {
            chosen: [1.2, 2.0],
            ..USUAL
        };
        for (number, task) in (60..).zip(&waiting) {
            record_for(&database, *task, number, slower);
        }
        assert_eq!(findings(&database), [shown("algorithm", true, "1 ratio")]);
        // The new level has no points of the former one.
        let level = database.read(|connection| read_level(connection, 1, 1, TrendQuantity::Ratio));
        let tasks: Vec<TaskId> = level
            .expect("read")
            .iter()
            .map(|point| point.task)
            .collect();
        assert_eq!(tasks, waiting);
    }

    /// Adds a schedule of the machine that waits for an event.
    fn schedule(database: &Database, event: &str) {
        let definition = json!({"events": {event: true}}).to_string();
        let add = "INSERT INTO schedule (name, machine, definition, revision, changed_by, changed_at, considered_at) \
                   VALUES (?1, 1, ?2, 1, 'me', 0, 0)";
        database
            .execute(add, params![event, definition])
            .expect("added");
    }

    /// The schedules that have an event, which they then have no longer.
    fn take_events(database: &Database) -> Vec<String> {
        let read = database.read(|connection| {
            let query = "SELECT name FROM schedule WHERE event IS NOT NULL ORDER BY name";
            query_rows(connection, query, [], |row| row.get(0))
        });
        let forget = database.execute("UPDATE schedule SET event = NULL", []);
        forget.expect("changed");
        read.expect("read")
    }

    #[test]
    fn schedules_are_told_of_other_fingerprints_and_of_suspicions() {
        let (_folder, database) = database();
        schedule(&database, "fingerprint");
        schedule(&database, "suspicion");
        record_nights(&database, 0..60, USUAL);
        assert_eq!(take_events(&database), [""; 0]);
        let slower = Night {
            chosen: [1.2, 2.0],
            ..USUAL
        };
        record_nights(&database, 60..63, slower);
        assert_eq!(take_events(&database), ["suspicion"]);
        // Those of a busy machine suggest nothing.
        let busy = Night {
            is_busy: true,
            ..slower
        };
        record_nights(&database, 63..64, busy);
        assert_eq!(take_events(&database), [""; 0]);
        let updated = Night {
            kernel: "6.1.0-11",
            ..USUAL
        };
        for night in [updated, USUAL] {
            record(&database, 64, night);
            assert_eq!(take_events(&database), ["fingerprint"]);
        }
        let pause = "UPDATE schedule SET paused_by = 'me', pause_reason = 'x', paused_at = 0";
        database.execute(pause, []).expect("paused");
        record(&database, 66, updated);
        assert_eq!(take_events(&database), [""; 0]);
    }

    /// An irregular collective is measured for several distributions at one size: their times differ by far.
    #[test]
    fn distributions_of_an_irregular_collective_are_series_of_their_own() {
        let (_folder, database) = database();
        let point = |distribution: &str, seconds: f64| {
            json!({
                "collective": "alltoallv", "nodes": 1, "ppn": 2, "bytes": 64, "operators": "any",
                "distribution": distribution, "place": "measured", "chosen": "alltoallv/linear",
                "seconds": seconds, "default_seconds": 2.0,
            })
        };
        let mut regular = point("uniform", 1.0);
        regular["collective"] = json!("alltoall");
        regular["distribution"] = Value::Null;
        let outcome = json!({
            "library": "openmpi-4.1.4",
            "points": [point("uniform", 1.0), point("skewed", 1.5), regular],
        });
        for _ in 0..2 {
            let task = submit(&database);
            let written =
                database.write(|transaction| record_points(transaction, 1, task, &outcome));
            written.expect("recorded");
        }
        let series = database.read(|connection| {
            let query = format!("{SELECT} ORDER BY series.id");
            query_rows(connection, &query, [], series_from_row)
        });
        let series = series.expect("read");
        let described: Vec<String> = series.iter().map(TrendSeries::describe).collect();
        assert_eq!(
            described,
            [
                "alltoallv 1x2 64, uniform: alltoallv/linear",
                "alltoallv 1x2 64, skewed: alltoallv/linear",
                "alltoall 1x2 64: alltoallv/linear"
            ]
        );
        assert_eq!(series[1].distribution.as_deref(), Some("skewed"));
        let times = database.read(|connection| {
            let query = "SELECT seconds FROM point ORDER BY series, task";
            query_rows(connection, query, [], |row| row.get::<_, f64>(0))
        });
        assert_eq!(times.expect("read"), [1.0, 1.0, 1.5, 1.5, 1.0, 1.0]);
    }

    #[test]
    fn outcomes_without_points_leave_no_trace() {
        let (_folder, database) = database();
        for outcome in [json!({}), json!({"points": 1}), json!({"points": [{}]})] {
            let written = database.write(|transaction| record_points(transaction, 1, 1, &outcome));
            written.expect("recorded");
        }
        let epochs = database.read(|connection| {
            let number: u32 =
                connection.query_row("SELECT count(*) FROM epoch", [], |row| row.get(0))?;
            Ok(number)
        });
        assert_eq!(epochs.expect("read"), 0);
    }
}

//! Controls of changes: what another table's choice at the same place did meanwhile.

use answers::ChangeControl;
use rusqlite::{Connection, params};
use statistics::median;

use crate::ServiceError;
use crate::database::query_rows;

/// The most points on each side of a change that are compared.
const MOST_POINTS: u32 = 40;

/// A change whose control is looked for.
pub(super) struct ControlledChange {
    pub(super) series: u64,
    pub(super) epoch: i64,
    /// The time of the first point of the new level, in milliseconds.
    pub(super) began_at: i64,
}

/// A series of the same place and another choice.
struct OtherChoice {
    series: i64,
    chosen: String,
}

/// The control of a change of a ratio: the other choice at the place of the series that was measured in the same epoch
/// before and after the change, the one that was measured last. `None` if there is none.
pub(super) fn find_control(
    connection: &Connection,
    change: &ControlledChange,
) -> Result<Option<ChangeControl>, ServiceError> {
    let of_place = "SELECT other.id, other.chosen FROM series JOIN series AS other USING \
                    (machine, library, via, collective, nodes, ppn, bytes, operators, distribution) \
                    WHERE series.id = ?1 AND other.id <> series.id \
                    ORDER BY (SELECT max(at) FROM point WHERE series = other.id AND epoch = ?2) DESC, other.id";
    let of_change = params![change.series, change.epoch];
    let others = query_rows(connection, of_place, of_change, |row| {
        Ok(OtherChoice {
            series: row.get(0)?,
            chosen: row.get(1)?,
        })
    })?;
    for OtherChoice { series, chosen } in others {
        let before = read_ratios(connection, series, change, "at < ?3 ORDER BY at DESC")?;
        let after = read_ratios(connection, series, change, "at >= ?3 ORDER BY at")?;
        if let (Some(median_before), Some(median_after)) = (median(&before), median(&after)) {
            return Ok(Some(ChangeControl {
                series: series.unsigned_abs(),
                chosen,
                before: median_before,
                after: median_after,
                points_after: after.len() as u64,
            }));
        }
    }
    Ok(None)
}

/// The ratios of a series on one side of a change, without those of a busy machine.
fn read_ratios(
    connection: &Connection,
    series: i64,
    change: &ControlledChange,
    side: &str,
) -> Result<Vec<f64>, ServiceError> {
    let query = format!(
        "SELECT seconds / default_seconds FROM point \
         WHERE series = ?1 AND epoch = ?2 AND NOT busy AND {side} LIMIT {MOST_POINTS}"
    );
    let of_side = params![series, change.epoch, change.began_at];
    query_rows(connection, &query, of_side, |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::Database;
    use crate::disk::Disk;

    const CHANGED_AT: i64 = 100;

    /// A machine with one size that three tables choose differently for, and another size.
    fn database() -> (tempfile::TempDir, Database) {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = Disk::new(folder.path(), crate::problems::Problems::default());
        let database = Database::open(&folder.path().join("service.db"), disk).expect("opened");
        let statements = "INSERT INTO machine (id, name) VALUES (1, 'hydra');
            INSERT INTO task (id, kind, machine, request, state, reason, actor, submitted_at)
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
                SELECT i, 'check', 1, '{}', 'done', '', 'me', 0 FROM n;
            INSERT INTO epoch (id, machine, library, fingerprint, measured, began_at)
                VALUES (1, 1, 'openmpi-4.1.4', 'a', '{}', 0), (2, 1, 'openmpi-4.1.4', 'b', '{}', 0);
            INSERT INTO series (id, machine, library, via, collective, nodes, ppn, bytes, operators, chosen, distribution)
                VALUES (1, 1, 'openmpi', 'driver', 'bcast', 1, 2, 64, 'any', 'bcast/chain', ''),
                       (2, 1, 'openmpi', 'driver', 'bcast', 1, 2, 64, 'any', 'bcast/binomial', ''),
                       (3, 1, 'openmpi', 'driver', 'bcast', 1, 2, 64, 'any', 'bcast/linear', ''),
                       (4, 1, 'openmpi', 'driver', 'bcast', 1, 2, 128, 'any', 'bcast/linear', '')";
        let written = database.write(|transaction| Ok(transaction.execute_batch(statements)?));
        written.expect("written");
        (folder, database)
    }

    /// Adds a point of a series at a time, which is also the number of its task; the default takes 1 s.
    fn add_point(
        database: &Database,
        series: i64,
        epoch: i64,
        at: i64,
        seconds: f64,
        is_busy: bool,
    ) {
        let insert = "INSERT INTO point (series, epoch, task, at, seconds, default_seconds, busy) \
                      VALUES (?1, ?2, ?3, ?3, ?4, 1.0, ?5)";
        let point = params![series, epoch, at, seconds, is_busy];
        database.execute(insert, point).expect("added");
    }

    fn control(database: &Database) -> Option<ChangeControl> {
        let change = ControlledChange {
            series: 1,
            epoch: 1,
            began_at: CHANGED_AT,
        };
        let found = database.read(|connection| find_control(connection, &change));
        found.expect("read")
    }

    #[test]
    fn the_control_is_the_other_choice_for_the_same_call_that_was_measured_last() {
        let (_folder, database) = database();
        for at in 1..50 {
            for series in 1..=4 {
                add_point(&database, series, 1, at, 0.1 * series as f64, false);
            }
        }
        // Only the changed choice has points since then.
        for at in CHANGED_AT..CHANGED_AT + 7 {
            add_point(&database, 1, 1, at, 0.2, false);
        }
        assert_eq!(control(&database), None);
        // Another size, another epoch and a busy machine are no controls.
        add_point(&database, 4, 1, CHANGED_AT, 0.4, false);
        add_point(&database, 2, 2, CHANGED_AT, 0.2, false);
        add_point(&database, 2, 1, CHANGED_AT + 1, 0.9, true);
        assert_eq!(control(&database), None);
        add_point(&database, 3, 1, CHANGED_AT + 2, 0.3, false);
        let linear = control(&database).expect("a control");
        assert_eq!((&*linear.chosen, linear.series), ("bcast/linear", 3));
        add_point(&database, 2, 1, CHANGED_AT + 3, 0.4, false);
        add_point(&database, 2, 1, CHANGED_AT + 4, 0.6, false);
        let expected = ChangeControl {
            series: 2,
            chosen: "bcast/binomial".to_owned(),
            before: 0.2,
            after: 0.5,
            points_after: 2,
        };
        assert_eq!(control(&database), Some(expected));
        // A task that waited in the queue for long has a small number; its points are the newest all the same.
        let late = "INSERT INTO point (series, epoch, task, at, seconds, default_seconds, busy) \
                    VALUES (3, 1, 60, 1000, 0.3, 1.0, 0)";
        database.execute(late, []).expect("added");
        let newest = control(&database).expect("a control");
        assert_eq!(&*newest.chosen, "bcast/linear");
    }
}

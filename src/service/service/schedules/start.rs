//! Submits the tasks of schedules whose time has come, or whose event has happened.

use jiff::{Timestamp, Zoned};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use serde_json::json;

use super::ends::{SUSPICION, count_failure};
use super::times::{closed_until, format_local};
use super::{ScheduledTimes, problem_subject};
use crate::database::{json_column, query_rows};
use crate::{
    ChannelKey, Notice, Release, ReleaseAction, ScheduleDefinition, Service, ServiceError, Task,
    TaskId, TaskRequest,
};

/// The least time between two tasks that events cause, in milliseconds: a task may cause the next event.
const EVENT_PAUSE: i64 = 60 * 60 * 1000;
/// The releases of a channel among which the table before the released one is looked for.
const MOST_RELEASES: u32 = 50;
const DAY_MILLISECONDS: i64 = 86_400_000;
/// The least time between the end of a task and the next one that the age of a table causes: the table stays old if
/// somebody cancels the task, or if it fails.
const AGE_PAUSE: i64 = DAY_MILLISECONDS;

/// A schedule as its row describes it, with the state of its tasks.
struct StoredSchedule {
    name: String,
    definition: ScheduleDefinition,
    revision: i64,
    paused_by: Option<String>,
    pause_reason: Option<String>,
    considered_at: i64,
    event: Option<String>,
    submitted_at: Option<i64>,
    /// The end of its newest task.
    ended_at: Option<i64>,
    /// Whether a task of it waits or runs.
    is_active: bool,
}

/// The reason for which a schedule submits its task now.
enum Due {
    /// One or more of its times have come.
    Time(Zoned),
    /// Something happened.
    Event(String),
}

impl Due {
    fn describe(&self) -> String {
        match self {
            Self::Time(at) => format!("its time came at {}", format_local(at)),
            Self::Event(what) => what.clone(),
        }
    }

    /// Whether the newest points of a trend suggest a change.
    fn is_suspicion(&self) -> bool {
        matches!(self, Self::Event(what) if what == SUSPICION)
    }
}

impl Service {
    /// Stops the clock of schedules at a time, for tests.
    #[doc(hidden)]
    pub fn stop_clock_at(&self, time: Timestamp) {
        self.clock.stop_at(time);
        self.runner.wake();
    }

    /// Submits the task of each schedule that is due. A schedule whose task cannot be submitted counts that as a failure.
    ///
    /// # Errors
    /// If the database cannot be read or written.
    #[doc(hidden)]
    pub fn submit_due_tasks(&self) -> Result<(), ServiceError> {
        let now = self.clock.now();
        for stored in self.database.read(StoredSchedule::read_all)? {
            self.note_own_pause(&stored);
            if stored.paused_by.is_some() {
                continue;
            }
            match self.find_due(&stored, now) {
                Ok(Some(Due::Time(_))) if stored.is_active => {
                    // The task of an earlier time has not ended: this time is left out.
                    self.mark_considered(&stored, now)?;
                }
                Ok(Some(due)) if !stored.is_active => self.submit_scheduled(&stored, &due, now)?,
                Ok(_) if stored.considered_at > now.as_millisecond() => {
                    // The clock was set back: times that it now shows again must not be waited for.
                    self.mark_considered(&stored, now)?;
                }
                Ok(_) => {}
                // An earlier version accepted what this one cannot read.
                Err(error @ ServiceError::Invalid { .. }) => {
                    self.fail_to_submit(&stored, now, &error.to_string())?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Tells of a schedule that has paused itself, until it is resumed.
    fn note_own_pause(&self, stored: &StoredSchedule) {
        let is_own = stored.paused_by.as_deref() == Some(super::ends::OWN_NAME);
        let reason = stored.pause_reason.as_deref().filter(|_| is_own);
        let problem = reason
            .map(|reason| format!("the schedule `{}` has paused itself: {reason}", stored.name));
        self.problems
            .note_problem(problem_subject(&stored.name), problem);
    }

    /// The reason for which a schedule is due; `None` if it is not.
    fn find_due(
        &self,
        stored: &StoredSchedule,
        now: Timestamp,
    ) -> Result<Option<Due>, ServiceError> {
        let ScheduledTimes { times, .. } = ScheduledTimes::read(&stored.definition)?;
        let zone = &self.configuration.time_zone;
        let since = Timestamp::from_millisecond(stored.considered_at).unwrap_or(now);
        let next = times.and_then(|times| times.next_after(&since.to_zoned(zone.clone())));
        if let Some(next) = next.filter(|next| next.timestamp() <= now) {
            return Ok(Some(Due::Time(next)));
        }
        let is_within = |pause: i64, begun_at: Option<i64>| {
            begun_at
                .is_some_and(|at| (at..at.saturating_add(pause)).contains(&now.as_millisecond()))
        };
        if stored.is_active || is_within(EVENT_PAUSE, stored.submitted_at) {
            return Ok(None);
        }
        if let Some(event) = &stored.event {
            return Ok(Some(Due::Event(event.clone())));
        }
        let Some(days) = stored.definition.events.age_days else {
            return Ok(None);
        };
        if is_within(AGE_PAUSE, stored.submitted_at) || is_within(AGE_PAUSE, stored.ended_at) {
            return Ok(None);
        }
        let tuned = self
            .database
            .read(|connection| last_tuned(connection, &stored.definition.task))?;
        let oldest = now.as_millisecond() - i64::from(days) * DAY_MILLISECONDS;
        Ok(match tuned {
            None => Some(Due::Event("its campaign has not been tuned".to_owned())),
            Some(at) if at <= oldest => Some(Due::Event(format!(
                "its campaign was last tuned {days} or more days ago"
            ))),
            Some(_) => None,
        })
    }

    /// Records that times up to now have been dealt with, unless the schedule has been changed since it was read.
    fn mark_considered(&self, stored: &StoredSchedule, now: Timestamp) -> Result<(), ServiceError> {
        let update = "UPDATE schedule SET considered_at = ?3 WHERE name = ?1 AND revision = ?2";
        let marked = self.database.execute(
            update,
            params![stored.name, stored.revision, now.as_millisecond()],
        );
        marked.map(drop)
    }

    /// Submits the task of a schedule that is due.
    fn submit_scheduled(
        &self,
        stored: &StoredSchedule,
        due: &Due,
        now: Timestamp,
    ) -> Result<(), ServiceError> {
        let name = &stored.name;
        let record = |transaction: &Transaction<'_>, task: TaskId| -> Result<(), ServiceError> {
            let updated = transaction.execute(
                "UPDATE schedule SET considered_at = ?3, event = NULL, submitted_at = ?3, last_task = ?4 \
                 WHERE name = ?1 AND revision = ?2",
                params![name, stored.revision, now.as_millisecond(), task],
            )?;
            // A schedule that was paused, changed or removed since it was read submits nothing: this takes the task back.
            if updated == 0 {
                let name = name.clone();
                return Err(ServiceError::Outdated { name, found: None });
            }
            Ok(())
        };
        let why = format!("submitted by the schedule {name}: {}", due.describe());
        let submitted = self
            .scheduled_request(&stored.definition)
            .and_then(|request| self.submit_for_schedule(name, &request, &why, record));
        match submitted {
            Ok(task) => {
                self.announce_scheduled(task);
                if due.is_suspicion() {
                    self.submit_control(stored)?;
                }
                Ok(())
            }
            Err(error @ ServiceError::Database(_)) => Err(error),
            Err(error) if error.is_disk_fault() => Err(error),
            // Somebody has changed the schedule meanwhile; the next round reads it again.
            Err(ServiceError::Outdated { .. }) => Ok(()),
            Err(error) => self.fail_to_submit(stored, now, &error.to_string()),
        }
    }

    fn announce_scheduled(&self, task: Task) {
        let task = Box::new(task);
        self.feed.send(Notice::Task { task });
        self.runner.wake();
    }

    /// Submits the task of a schedule once more, for the table that its channel had before. It is a control: what both
    /// tables show is no fault of the released one.
    fn submit_control(&self, stored: &StoredSchedule) -> Result<(), ServiceError> {
        let Some(request) = self.control_request(&stored.definition)? else {
            return Ok(());
        };
        let name = &stored.name;
        let why = format!(
            "submitted by the schedule {name} as a control: the table before the released one"
        );
        match self.submit_for_schedule(name, &request, &why, |_, _| Ok(())) {
            Ok(task) => {
                self.announce_scheduled(task);
                Ok(())
            }
            Err(error @ ServiceError::Database(_)) => Err(error),
            Err(error) if error.is_disk_fault() => Err(error),
            // Its campaign may have been removed: then the released table is measured without a control.
            Err(_) => Ok(()),
        }
    }

    /// The request of a schedule, with the table that its channel has now.
    fn scheduled_request(
        &self,
        definition: &ScheduleDefinition,
    ) -> Result<TaskRequest, ServiceError> {
        let mut request = definition.task.clone();
        let Some(key) = key_of_channel(definition) else {
            return Ok(request);
        };
        let newest = self.newest_releases_of(&key, 1)?.into_iter().next();
        let released = newest.filter(|release| release.action != ReleaseAction::Withdraw);
        let digest = released.map(|release| release.digest);
        request.table =
            Some(digest.ok_or_else(|| {
                ServiceError::Conflict(format!("{key} has no table; release one"))
            })?);
        Ok(request)
    }

    /// The request of a schedule, with the newest table of its channel before the one that it has now. `None` if there
    /// was none.
    fn control_request(
        &self,
        definition: &ScheduleDefinition,
    ) -> Result<Option<TaskRequest>, ServiceError> {
        let Some(key) = key_of_channel(definition) else {
            return Ok(None);
        };
        let mut releases = self.newest_releases_of(&key, MOST_RELEASES)?.into_iter();
        let Some(newest) = releases.next() else {
            return Ok(None);
        };
        let before = releases.find(|release| {
            release.action != ReleaseAction::Withdraw && release.digest != newest.digest
        });
        Ok(before.map(|release| TaskRequest {
            table: Some(release.digest),
            ..definition.task.clone()
        }))
    }

    /// The newest releases of a channel, newest first.
    fn newest_releases_of(
        &self,
        key: &ChannelKey,
        most: u32,
    ) -> Result<Vec<Release>, ServiceError> {
        let newest = crate::Slice {
            before: None,
            limit: Some(most),
        };
        Ok(self.list_releases(key, newest)?.items)
    }

    /// Counts a task that could not be submitted as one that failed, unless the schedule has been changed since it was
    /// read.
    fn fail_to_submit(
        &self,
        stored: &StoredSchedule,
        now: Timestamp,
        problem: &str,
    ) -> Result<(), ServiceError> {
        self.database.write(|transaction| {
            let updated = transaction.execute(
                "UPDATE schedule SET considered_at = ?3, event = NULL, submitted_at = ?3 \
                 WHERE name = ?1 AND revision = ?2",
                params![stored.name, stored.revision, now.as_millisecond()],
            )?;
            if updated == 0 {
                return Ok(());
            }
            let reason = format!("no task could be submitted: {problem}");
            count_failure(transaction, &stored.name, now.as_millisecond(), &reason)
        })
    }

    /// The reason why the task of a schedule may not start now; `None` if it may, or if there is no such schedule.
    pub(crate) fn schedule_obstacle(&self, name: &str) -> Result<Option<String>, ServiceError> {
        let found = self
            .database
            .read(|connection| StoredSchedule::read_one(connection, name))?;
        let Some(stored) = found else {
            return Ok(None);
        };
        if let (Some(by), Some(reason)) = (&stored.paused_by, &stored.pause_reason) {
            return Ok(Some(format!(
                "waits: the schedule {name} is paused by {by}: {reason}"
            )));
        }
        let read = ScheduledTimes::read(&stored.definition);
        let windows = read.map_or_else(|_| Vec::new(), |read| read.windows);
        let now = self
            .clock
            .now()
            .to_zoned(self.configuration.time_zone.clone());
        let closed = closed_until(&windows, &now);
        Ok(closed.map(|until| {
            format!("waits for a window of the schedule {name}; the next one opens at {until}")
        }))
    }
}

/// The channel of a schedule's definition.
fn key_of_channel(definition: &ScheduleDefinition) -> Option<ChannelKey> {
    let channel = definition.channel.as_ref()?;
    Some(ChannelKey {
        machine: definition.task.machine.clone().unwrap_or_default(),
        library: channel.library.clone(),
        channel: channel.channel,
    })
}

/// The time at which the campaign of a request was last tuned on its machine with its overrides.
fn last_tuned(connection: &Connection, request: &TaskRequest) -> Result<Option<i64>, ServiceError> {
    let query = "SELECT max(ended_at) FROM task JOIN machine ON machine.id = task.machine \
                 WHERE kind = 'tune' AND state = 'done' AND machine.name = ?1 \
                 AND json_extract(request, '$.campaign') = ?2 \
                 AND json_extract(request, '$.overrides') IS json_extract(?3, '$.overrides')";
    let of_request = params![
        request.machine,
        request.campaign,
        json!(request).to_string()
    ];
    Ok(connection.query_row(query, of_request, |row| row.get(0))?)
}

const SELECT: &str = "SELECT name, definition, paused_by, pause_reason, considered_at, event, submitted_at, \
                      EXISTS (SELECT 1 FROM task WHERE task.schedule = schedule.name AND state IN ('waiting', 'running')), \
                      (SELECT ended_at FROM task WHERE id = schedule.last_task), revision FROM schedule";

impl StoredSchedule {
    fn read_all(connection: &Connection) -> Result<Vec<Self>, ServiceError> {
        let query = format!("{SELECT} ORDER BY name");
        query_rows(connection, &query, [], Self::from_row)
    }

    fn read_one(connection: &Connection, name: &str) -> Result<Option<Self>, ServiceError> {
        let mut statement = connection.prepare_cached(&format!("{SELECT} WHERE name = ?1"))?;
        Ok(statement.query_row([name], Self::from_row).optional()?)
    }

    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            name: row.get(0)?,
            definition: json_column(row, 1)?,
            paused_by: row.get(2)?,
            pause_reason: row.get(3)?,
            considered_at: row.get(4)?,
            event: row.get(5)?,
            submitted_at: row.get(6)?,
            is_active: row.get(7)?,
            ended_at: row.get(8)?,
            revision: row.get(9)?,
        })
    }
}

//! Schedules: tasks that the service submits by itself.
//!
//! A schedule submits its task at its times, and after its events (`start`). The task then waits in the queue like any
//! other: until a window of its schedule is open, until the schedule is not paused, for the machine's node-hours. While
//! it waits or runs, the schedule submits no other one, and times that came while the service did not run are made up
//! for by one task. After three failures in a row the schedule pauses itself (`ends`).

mod ends;
mod start;
mod times;

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use serde_json::json;
use sha2::{Digest as _, Sha256};

pub(crate) use self::ends::{
    mark_fingerprint_change, mark_suspicion, note_task_ends, wants_suspicions,
};
pub(crate) use self::times::zone_name;
use self::times::{Times, Window};
use crate::database::{json_column, query_rows, timestamp_column, to_timestamp};
use crate::tasks::cancel::detach_followers_of_schedule;
use crate::{
    Actor, PauseRequest, Schedule, ScheduleDefinition, SchedulePause, Scope, Service, ServiceError,
    TaskKind, audit,
};

/// The most schedules.
const MOST_SCHEDULES: u32 = 500;
/// The most windows of a schedule.
const MOST_WINDOWS: usize = 20;
/// The largest age of a table after which it is tuned again, in days.
const MOST_DAYS: u32 = 3660;
/// The longest reason of a pause, in bytes.
const LONGEST_REASON: usize = 2000;

/// The state in which a request expects a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedRevision {
    /// It exists.
    Any,
    /// There is none.
    Missing,
    /// It is at this revision.
    At(u64),
    /// It is this one.
    Same(ScheduleTag),
}

/// What tells a schedule from each other state of it: its revision, and a digest of its definition and pause. After a
/// restore from a backup, a revision may be used again for another definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleTag {
    revision: u64,
    content: u64,
}

impl ScheduleTag {
    /// The tag of a schedule.
    pub fn from_schedule(schedule: &Schedule) -> Self {
        let content = json!([schedule.definition, schedule.paused]).to_string();
        let digest: [u8; 32] = Sha256::digest(content).into();
        Self {
            revision: schedule.revision,
            content: u64::from_be_bytes(digest.first_chunk().copied().unwrap_or_default()),
        }
    }
}

impl fmt::Display for ScheduleTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:016x}", self.revision, self.content)
    }
}

impl FromStr for ScheduleTag {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (revision, content) = text.split_once('-').unwrap_or((text, ""));
        Ok(Self {
            revision: revision.parse()?,
            content: u64::from_str_radix(content, 16)?,
        })
    }
}

impl Service {
    /// The schedules, by name: only those of `readable` machines, if given.
    ///
    /// # Errors
    /// SQLite.
    pub fn list_schedules(
        &self,
        readable: Option<&[String]>,
        machine: Option<&str>,
    ) -> Result<Vec<Schedule>, ServiceError> {
        let readable = readable.map(|names| json!(names).to_string());
        let mut schedules = self.database.read(|connection| {
            let query = format!(
                "{SELECT} WHERE (?1 IS NULL OR machine.name = ?1) \
                 AND (?2 IS NULL OR machine.name IN (SELECT value FROM json_each(?2))) ORDER BY schedule.name"
            );
            query_rows(connection, &query, params![machine, readable], schedule_from_row)
        })?;
        for schedule in &mut schedules {
            self.complete_schedule(schedule);
        }
        Ok(schedules)
    }

    /// A schedule.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`]; SQLite.
    pub fn read_schedule(&self, name: &str) -> Result<Schedule, ServiceError> {
        let mut schedule = self
            .database
            .read(|connection| fetch_schedule(connection, name))?;
        self.complete_schedule(&mut schedule);
        Ok(schedule)
    }

    /// Makes or replaces a schedule, which stays paused if it is. Needs the scope `submit` for its machine, and for the
    /// machine of the schedule that it replaces. Returns also whether it is new.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`]; [`ServiceError::Outdated`] if the schedule is not as expected;
    /// [`ServiceError::NotFound`] of the machine, campaign or table; [`ServiceError::Invalid`] and
    /// [`ServiceError::Campaign`]; [`ServiceError::Conflict`] if there are 500 schedules; SQLite.
    pub fn put_schedule(
        &self,
        actor: &Actor,
        name: &str,
        definition: &ScheduleDefinition,
        expected: ExpectedRevision,
    ) -> Result<(Schedule, bool), ServiceError> {
        let definition = self.check_definition(actor, name, definition)?;
        let machine = definition.task.machine.clone().unwrap_or_default();
        let text = json!(definition).to_string();
        let now = self.clock.now().as_millisecond();
        let is_new = self.database.write(|transaction| {
            let before = missing_as_none(fetch_schedule(transaction, name))?;
            if let Some(before) = &before {
                actor.require_scope(Scope::Submit, before.definition.task.machine.as_deref())?;
            }
            check_expected(name, before.as_ref(), expected)?;
            let count: u32 =
                transaction.query_row("SELECT count(*) FROM schedule", [], |row| row.get(0))?;
            if before.is_none() && count >= MOST_SCHEDULES {
                let problem = format!("there are {count} schedules; remove those that are not used");
                return Err(ServiceError::Conflict(problem));
            }
            let revision = record_change(transaction, actor, "schedule.put", name, &json!(definition))?;
            transaction.execute(
                "INSERT INTO schedule (name, machine, definition, revision, changed_by, changed_at, considered_at) \
                 VALUES (?1, (SELECT id FROM machine WHERE name = ?2), ?3, ?4, ?5, ?6, ?6) \
                 ON CONFLICT (name) DO UPDATE SET machine = excluded.machine, definition = excluded.definition, \
                 revision = excluded.revision, changed_by = excluded.changed_by, changed_at = excluded.changed_at, \
                 considered_at = excluded.considered_at, event = NULL, failures = 0",
                params![name, machine, text, revision, actor.name, now],
            )?;
            detach_followers_of_schedule(transaction, name)?;
            Ok(before.is_none())
        })?;
        self.runner.wake();
        Ok((self.read_schedule(name)?, is_new))
    }

    /// Removes a schedule; its tasks stay. Needs the scope `submit` for its machine.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], [`ServiceError::Forbidden`], [`ServiceError::Outdated`]; [`ServiceError::Conflict`]
    /// while a task of it waits, which would start at once; SQLite.
    pub fn remove_schedule(
        &self,
        actor: &Actor,
        name: &str,
        expected: ExpectedRevision,
    ) -> Result<(), ServiceError> {
        self.database.write(|transaction| {
            let before = fetch_schedule(transaction, name)?;
            actor.require_scope(Scope::Submit, before.definition.task.machine.as_deref())?;
            check_expected(name, Some(&before), expected)?;
            let waiting = "SELECT min(id) FROM task WHERE schedule = ?1 AND state = 'waiting'";
            let waiting: Option<u64> = transaction.query_row(waiting, [name], |row| row.get(0))?;
            if let Some(task) = waiting {
                return Err(ServiceError::Conflict(format!(
                    "task {task} of the schedule `{name}` waits; cancel it first"
                )));
            }
            record_change(transaction, actor, "schedule.remove", name, &json!({}))?;
            transaction.execute("DELETE FROM schedule WHERE name = ?1", [name])?;
            Ok(())
        })?;
        self.problems.note_problem(problem_subject(name), None);
        Ok(())
    }

    /// Pauses a schedule: it submits nothing, and its waiting tasks do not start. Needs the scope `submit` for its
    /// machine.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], [`ServiceError::Forbidden`], [`ServiceError::Invalid`] without a reason;
    /// [`ServiceError::Conflict`] if it is paused; SQLite.
    pub fn pause_schedule(
        &self,
        actor: &Actor,
        name: &str,
        request: &PauseRequest,
    ) -> Result<Schedule, ServiceError> {
        let now = self.clock.now().as_millisecond();
        self.change_pause(actor, name, request, |transaction, before, reason| {
            if let Some(pause) = &before.paused {
                let problem = format!("the schedule `{name}` is paused by {} already", pause.by);
                return Err(ServiceError::Conflict(problem));
            }
            let details = json!({ "reason": reason });
            let revision = record_change(transaction, actor, "schedule.pause", name, &details)?;
            transaction.execute(
                "UPDATE schedule SET revision = ?2, paused_by = ?3, pause_reason = ?4, paused_at = ?5 WHERE name = ?1",
                params![name, revision, actor.name, reason, now],
            )?;
            detach_followers_of_schedule(transaction, name)?;
            Ok(())
        })
    }

    /// Ends the pause of a schedule. Times and events during the pause are left out, and its failures are forgotten.
    /// Needs the scope `submit` for its machine.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], [`ServiceError::Forbidden`], [`ServiceError::Invalid`] without a reason;
    /// [`ServiceError::Conflict`] if it is not paused; SQLite.
    pub fn resume_schedule(
        &self,
        actor: &Actor,
        name: &str,
        request: &PauseRequest,
    ) -> Result<Schedule, ServiceError> {
        let now = self.clock.now().as_millisecond();
        let resumed = self.change_pause(actor, name, request, |transaction, before, reason| {
            if before.paused.is_none() {
                let problem = format!("the schedule `{name}` is not paused");
                return Err(ServiceError::Conflict(problem));
            }
            let details = json!({ "reason": reason });
            let revision = record_change(transaction, actor, "schedule.resume", name, &details)?;
            transaction.execute(
                "UPDATE schedule SET revision = ?2, paused_by = NULL, pause_reason = NULL, paused_at = NULL, \
                 failures = 0, event = NULL, considered_at = ?3 WHERE name = ?1",
                params![name, revision, now],
            )?;
            Ok(())
        })?;
        self.problems.note_problem(problem_subject(name), None);
        Ok(resumed)
    }

    fn change_pause(
        &self,
        actor: &Actor,
        name: &str,
        request: &PauseRequest,
        change: impl FnOnce(&Transaction<'_>, &Schedule, &str) -> Result<(), ServiceError>,
    ) -> Result<Schedule, ServiceError> {
        self.database.write(|transaction| {
            let before = fetch_schedule(transaction, name)?;
            actor.require_scope(Scope::Submit, before.definition.task.machine.as_deref())?;
            let reason = request.reason.trim();
            if reason.is_empty() {
                return Err(ServiceError::invalid("reason", "is empty; say why"));
            }
            if reason.len() > LONGEST_REASON {
                let problem = format!("has {} bytes; the most are {LONGEST_REASON}", reason.len());
                return Err(ServiceError::invalid("reason", problem));
            }
            change(transaction, &before, reason)
        })?;
        self.runner.wake();
        self.read_schedule(name)
    }

    /// Checks a definition, and names its machine.
    fn check_definition(
        &self,
        actor: &Actor,
        name: &str,
        definition: &ScheduleDefinition,
    ) -> Result<ScheduleDefinition, ServiceError> {
        let mut definition = definition.clone();
        let machine = self.requested_machine(actor, &definition.task)?;
        definition.task.machine = Some(machine.name.clone());
        if !crate::configuration::is_machine_name(name) {
            let problem = "use 1 to 64 of `a` to `z`, digits, `-`, `_` and `.`, beginning with anything but `.`";
            return Err(ServiceError::invalid("name", problem));
        }
        let is_tuning = definition.task.kind == TaskKind::Tune;
        let is_of_table = matches!(definition.task.kind, TaskKind::Validate | TaskKind::Check);
        let problem = |field, text: String| Err(ServiceError::invalid(field, text));
        match (&definition.channel, &definition.task.table) {
            (Some(_), _) if !is_of_table => {
                return problem(
                    "channel",
                    format!(
                        "is for `validate` and `check`, not `{}`",
                        definition.task.kind
                    ),
                );
            }
            (Some(_), Some(_)) => {
                return problem(
                    "channel",
                    "names a table as `task.table` does; leave one out".to_owned(),
                );
            }
            (Some(channel), None) => {
                if crate::releases::parse_channel_library(&channel.library).is_none() {
                    let text = "write `library` as NAME-VERSION, as in `openmpi-4.1.4`";
                    return problem("channel", text.to_owned());
                }
            }
            (None, None) if is_of_table => {
                return problem(
                    "channel",
                    format!(
                        "is missing; `{}` needs it, or `task.table`",
                        definition.task.kind
                    ),
                );
            }
            // The campaign and the table of the task must exist now; a channel may get its table later.
            (None, _) => self.check_request(machine, &definition.task)?,
        }
        match definition.events.age_days {
            Some(_) if !is_tuning => {
                return problem(
                    "events.age_days",
                    format!("is for `tune`, not `{}`", definition.task.kind),
                );
            }
            Some(days) if !(1..=MOST_DAYS).contains(&days) => {
                return problem("events.age_days", format!("write 1 to {MOST_DAYS}"));
            }
            _ => {}
        }
        let ScheduledTimes { times, .. } = ScheduledTimes::read(&definition)?;
        let now = self
            .clock
            .now()
            .to_zoned(self.configuration.time_zone.clone());
        if times
            .as_ref()
            .is_some_and(|times| times.next_after(&now).is_none())
        {
            return problem(
                "times",
                "never come; check the day and the month".to_owned(),
            );
        }
        if times.is_none() && definition.events == answers::ScheduleEvents::default() {
            return problem(
                "times",
                "are missing, and so are events; name one of both".to_owned(),
            );
        }
        Ok(definition)
    }

    /// Adds what does not stand in the row of a schedule.
    fn complete_schedule(&self, schedule: &mut Schedule) {
        let zone = &self.configuration.time_zone;
        schedule.time_zone = zone_name(zone);
        let read = ScheduledTimes::read(&schedule.definition);
        let times = read.ok().and_then(|read| read.times);
        if let Some(times) = times.filter(|_| schedule.paused.is_none()) {
            let now = self.clock.now().to_zoned(zone.clone());
            schedule.next_at = times.next_after(&now).map(|at| at.timestamp());
        }
    }
}

/// The times and windows of a definition.
struct ScheduledTimes {
    times: Option<Times>,
    windows: Vec<Window>,
}

impl ScheduledTimes {
    /// # Errors
    /// [`ServiceError::Invalid`].
    fn read(definition: &ScheduleDefinition) -> Result<Self, ServiceError> {
        let times = definition.times.as_deref().map(Times::parse).transpose();
        if definition.windows.len() > MOST_WINDOWS {
            let problem = format!("are more than {MOST_WINDOWS}");
            return Err(ServiceError::invalid("windows", problem));
        }
        let windows = definition.windows.iter().map(|text| Window::parse(text));
        let windows: Result<Vec<_>, _> = windows.collect();
        Ok(Self {
            times: times.map_err(|problem| ServiceError::invalid("times", problem))?,
            windows: windows.map_err(|problem| ServiceError::invalid("windows", problem))?,
        })
    }
}

/// The subject of the problem that a schedule has paused itself.
fn problem_subject(name: &str) -> String {
    format!("schedule {name}")
}

/// Records a change in the audit, and returns the revision that it makes.
fn record_change(
    transaction: &Transaction<'_>,
    actor: &Actor,
    action: &str,
    name: &str,
    details: &serde_json::Value,
) -> Result<i64, ServiceError> {
    let subject = format!("schedule {name}");
    audit::record_action(transaction, &actor.name, action, &subject, details)?;
    Ok(transaction.last_insert_rowid())
}

fn check_expected(
    name: &str,
    found: Option<&Schedule>,
    expected: ExpectedRevision,
) -> Result<(), ServiceError> {
    let is_as_expected = match expected {
        ExpectedRevision::Any => found.is_some(),
        ExpectedRevision::Missing => found.is_none(),
        ExpectedRevision::At(revision) => {
            found.is_some_and(|schedule| schedule.revision == revision)
        }
        ExpectedRevision::Same(tag) => found.map(ScheduleTag::from_schedule) == Some(tag),
    };
    if is_as_expected {
        Ok(())
    } else {
        let name = name.to_owned();
        let found = found.map(|schedule| schedule.revision);
        Err(ServiceError::Outdated { name, found })
    }
}

const SELECT: &str = "SELECT schedule.name, definition, revision, changed_by, changed_at, paused_by, pause_reason, \
                      paused_at, failures, last_task FROM schedule JOIN machine ON machine.id = schedule.machine";

fn fetch_schedule(connection: &Connection, name: &str) -> Result<Schedule, ServiceError> {
    let query = format!("{SELECT} WHERE schedule.name = ?1");
    let found = connection
        .query_row(&query, [name], schedule_from_row)
        .optional()?;
    let unknown = || ServiceError::not_found("schedule", files::quoted(name, files::MOST_QUOTED));
    found.ok_or_else(unknown)
}

/// A schedule without what [`Service::complete_schedule`] adds.
fn schedule_from_row(row: &Row<'_>) -> rusqlite::Result<Schedule> {
    let (by, reason): (Option<String>, Option<String>) = (row.get(5)?, row.get(6)?);
    let paused = match (by, reason, timestamp_column(row, 7)?) {
        (Some(by), Some(reason), Some(at)) => Some(SchedulePause { by, reason, at }),
        _ => None,
    };
    Ok(Schedule {
        name: row.get(0)?,
        definition: json_column(row, 1)?,
        revision: row.get(2)?,
        time_zone: String::new(),
        changed_by: row.get(3)?,
        changed_at: to_timestamp(row.get(4)?)?,
        paused,
        failures: row.get(8)?,
        next_at: None,
        last_task: row.get(9)?,
    })
}

/// A result whose missing row is none.
fn missing_as_none<T>(found: Result<T, ServiceError>) -> Result<Option<T>, ServiceError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(ServiceError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

//! Schedules: tasks that the service submits by itself, at times and after events.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::tasks::AnsweredRequest;
use crate::{ReleaseChannel, TaskId, TaskRequest};

/// A channel of the schedule's machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduledChannel {
    /// `NAME-VERSION` of the MPI library.
    pub library: String,
    /// The channel.
    pub channel: ReleaseChannel,
}

/// The events after which a schedule submits its task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleEvents {
    /// A check or validation of the machine measured another CPU, kernel or library than the one before it.
    #[serde(default)]
    pub fingerprint: bool,
    /// The newest points of a trend of the machine suggest a change, which more points confirm or refute.
    #[serde(default)]
    pub suspicion: bool,
    /// The campaign was tuned for the last time this many days ago, 1 to 3660, or never: for `tune`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_days: Option<u32>,
}

/// What a schedule submits, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleDefinition {
    /// The task.
    pub task: TaskRequest,
    /// The channel whose table is measured, the one that is released when the task is submitted: for `validate` and
    /// `check`, in place of `task.table`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<ScheduledChannel>,
    /// Times in the service's time zone, in the five fields of cron: minute, hour, day of the month, month, day of the
    /// week, as in `30 2 * * mon-fri`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<String>,
    /// Events.
    #[serde(default)]
    pub events: ScheduleEvents,
    /// The windows in which the task may start, in the service's time zone, as in `22:00-06:00` or
    /// `Sat,Sun 00:00-24:00`; none for any time.
    #[serde(default)]
    pub windows: Vec<String>,
}

/// The pause of a schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SchedulePause {
    /// The user who paused it; `service` if it paused itself.
    pub by: String,
    /// The reason.
    pub reason: String,
    /// When.
    #[schema(value_type = String)]
    pub at: jiff::Timestamp,
}

/// A schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Schedule {
    /// Its name.
    pub name: String,
    /// Its newest entry in the audit, which grows with each change. The ETag begins with it.
    pub revision: u64,
    /// What it submits, and when; `task.machine` is set.
    #[serde(deserialize_with = "AnsweredDefinition::deserialize")]
    pub definition: ScheduleDefinition,
    /// The service's time zone.
    pub time_zone: String,
    /// The user who defined it last.
    pub changed_by: String,
    /// When.
    #[schema(value_type = String)]
    pub changed_at: jiff::Timestamp,
    /// Its pause, if it is paused.
    pub paused: Option<SchedulePause>,
    /// The number of its tasks that failed one after the other, up to the newest one.
    pub failures: u32,
    /// The next of its times, if it has any and is not paused.
    #[schema(value_type = Option<String>)]
    pub next_at: Option<jiff::Timestamp>,
    /// The newest task that it submitted.
    pub last_task: Option<TaskId>,
}

/// A request to pause or resume a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseRequest {
    /// The reason; it must not be empty.
    pub reason: String,
}

/// A definition within a schedule, for reading: a later version may know more keys than this one, which refuses them
/// only in requests.
#[derive(Deserialize)]
#[serde(remote = "ScheduleDefinition")]
struct AnsweredDefinition {
    #[serde(deserialize_with = "AnsweredRequest::deserialize")]
    task: TaskRequest,
    #[serde(default, deserialize_with = "read_channel")]
    channel: Option<ScheduledChannel>,
    times: Option<String>,
    #[serde(default, deserialize_with = "AnsweredEvents::deserialize")]
    events: ScheduleEvents,
    #[serde(default)]
    windows: Vec<String>,
}

/// The events of such a definition.
#[derive(Deserialize)]
#[serde(remote = "ScheduleEvents")]
struct AnsweredEvents {
    #[serde(default)]
    fingerprint: bool,
    #[serde(default)]
    suspicion: bool,
    age_days: Option<u32>,
}

/// The channel of such a definition.
#[derive(Deserialize)]
#[serde(remote = "ScheduledChannel")]
struct AnsweredChannel {
    library: String,
    channel: ReleaseChannel,
}

fn read_channel<'de, D: serde::Deserializer<'de>>(
    from: D,
) -> Result<Option<ScheduledChannel>, D::Error> {
    #[derive(Deserialize)]
    struct Read(#[serde(deserialize_with = "AnsweredChannel::deserialize")] ScheduledChannel);
    let read: Option<Read> = Option::deserialize(from)?;
    Ok(read.map(|Read(channel)| channel))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::TaskKind;

    fn schedule() -> Schedule {
        let at: jiff::Timestamp = "2026-11-29T02:00:00Z".parse().expect("a time");
        Schedule {
            name: "nightly".to_owned(),
            revision: 3,
            definition: ScheduleDefinition {
                task: TaskRequest {
                    kind: TaskKind::Check,
                    machine: Some("hydra".to_owned()),
                    campaign: None,
                    table: None,
                    deployment: None,
                    overrides: crate::Overrides::default(),
                },
                channel: Some(ScheduledChannel {
                    library: "openmpi-4.1.4".to_owned(),
                    channel: ReleaseChannel::Production,
                }),
                times: Some("30 2 * * *".to_owned()),
                events: ScheduleEvents {
                    suspicion: true,
                    ..ScheduleEvents::default()
                },
                windows: vec!["22:00-06:00".to_owned()],
            },
            time_zone: "Europe/Berlin".to_owned(),
            changed_by: "ann".to_owned(),
            changed_at: at,
            paused: Some(SchedulePause {
                by: "service".to_owned(),
                reason: "three tasks failed".to_owned(),
                at,
            }),
            failures: 3,
            next_at: None,
            last_task: Some(7),
        }
    }

    /// The service refuses keys that it does not know; a client ignores those of a later service.
    #[test]
    fn schedules_are_read_as_they_are_written_and_only_definitions_are_strict() {
        for place in [
            "/definition/more",
            "/definition/events/more",
            "/definition/channel/more",
            "/definition/task/more",
            "/definition/task/overrides/more",
        ] {
            let mut answer = json!(schedule());
            let (parent, key) = place.rsplit_once('/').expect("a key");
            answer.pointer_mut(parent).expect("an object")[key] = json!(1);
            let read = Schedule::deserialize(&answer).expect("readable");
            assert_eq!(read, schedule(), "{place}");
            let refused = ScheduleDefinition::deserialize(&answer["definition"]);
            let refused = refused.expect_err("strict").to_string();
            assert!(refused.contains(key), "{place}: {refused}");
        }
        let strict = json!(schedule().definition);
        let read = ScheduleDefinition::deserialize(&strict).expect("readable");
        assert_eq!(read, schedule().definition);
    }
}

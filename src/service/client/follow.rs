//! Following a task until it ends.

use std::thread::sleep;
use std::time::{Duration, Instant};

use answers::Task;
use serde::Deserialize;
use serde_json::Value;
use vocabulary::ErrorKind;

use crate::{Ask, Remote, RemoteError};

/// The shortest and the longest time between two requests.
const PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(2));

/// The time that a service may be unreachable, for instance during an upgrade.
const PATIENCE: Duration = Duration::from_secs(60);

/// A report on a followed task.
#[derive(Debug)]
pub enum Following<'a> {
    /// The task's state or reason has changed.
    Task(&'a Task),
    /// The service is unreachable at the moment.
    Unreachable(&'a RemoteError),
}

/// Requests a task repeatedly until it has ended, and calls `report` at each change. Returns the last answer, as JSON
/// and parsed. Tolerates that the service is unreachable, or that something else answers in its place, for less than a
/// minute. A task that this version cannot read, as one in a state of a later service, is an error at once.
///
/// # Errors
/// [`RemoteError`].
pub fn follow_task(
    remote: &Remote,
    id: u64,
    mut report: impl FnMut(Following<'_>),
) -> Result<(Value, Task), RemoteError> {
    let path = format!("/tasks/{id}");
    let since = Instant::now();
    let mut away: Option<Instant> = None;
    let mut before = None;
    loop {
        let answer = remote.request_json(Ask::get(&path)).and_then(|value| {
            if value.is_object() {
                Ok(value)
            } else {
                Err(remote.unexpected_answer(&path, "the answer is not a task"))
            }
        });
        match answer {
            Ok(value) => {
                let task = Task::deserialize(&value);
                let task = task.map_err(|error| remote.unexpected_answer(&path, error))?;
                away = None;
                let now = Some((task.state, task.reason.clone()));
                if now != before {
                    report(Following::Task(&task));
                    before = now;
                }
                if task.has_ended() {
                    return Ok((value, task));
                }
            }
            Err(error) if error.kind() == ErrorKind::Environment => {
                if away.is_none() {
                    report(Following::Unreachable(&error));
                }
                if away.get_or_insert_with(Instant::now).elapsed() >= PATIENCE {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        }
        sleep((since.elapsed() / 10).clamp(PAUSES.0, PAUSES.1));
    }
}

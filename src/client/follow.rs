//! Following a task to its end.

use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{Ask, Remote, RemoteError, RequestOutcome, Task};

/// The shortest and the longest time between two questions.
const PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(2));

/// How long a service may be away, as while it is upgraded, before it counts as gone.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is told of a task that is followed.
#[derive(Debug)]
pub enum Following<'a> {
    /// The task has another state or reason.
    Task(&'a Task),
    /// The service cannot be asked for now.
    Away(&'a RemoteError),
}

/// Asks for a task again and again until it has ended: the answer, as it is and as it is read. A service that is away
/// for less than a minute is waited for.
///
/// # Errors
/// [`RemoteError`].
pub fn follow(
    remote: &Remote,
    id: u64,
    mut tell: impl FnMut(Following<'_>),
) -> Result<(Value, Task), RemoteError> {
    let path = format!("/tasks/{id}");
    let since = Instant::now();
    let mut away: Option<Instant> = None;
    let mut before = (String::new(), String::new());
    loop {
        match remote.read::<Task>(Ask::get(&path)) {
            Ok((value, task)) => {
                away = None;
                let now = (task.state.clone(), task.reason.clone());
                if now != before {
                    tell(Following::Task(&task));
                    before = now;
                }
                if task.has_ended() {
                    return Ok((value, task));
                }
            }
            Err(error) if error.outcome() == RequestOutcome::Away => {
                if away.is_none() {
                    tell(Following::Away(&error));
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

//! The feed: events of the service, for listeners.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use answers::PrintedEvent;
use serde::Serialize;
use tokio::sync::broadcast::{Receiver, Sender, channel};
use utoipa::ToSchema;

use crate::database::{lock_ignoring_poison, now_milliseconds};
use crate::{Release, Task, TaskId};

/// The number of notices that are kept for listeners that are slow or reconnect.
const KEPT: usize = 1024;

/// An event of the service.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Notice {
    /// A task was submitted or changed its state or reason.
    Task {
        /// The task as it is now.
        task: Box<Task>,
    },
    /// A task's child process reported an event of measuring, as `colltune tune --events` prints it.
    Progress {
        /// The task.
        task: TaskId,
        /// The event.
        #[schema(value_type = serde_json::Value)]
        progress: PrintedEvent,
    },
    /// A channel has a new release.
    Release {
        /// The release.
        release: Box<Release>,
    },
}

/// A notice with its number.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FeedItem {
    /// Ascending within one run of the service.
    pub id: u64,
    /// The event.
    #[serde(flatten)]
    pub notice: Notice,
}

/// Sends notices to all listeners, and keeps the last 1024 for listeners that reconnect. A listener that falls
/// further behind loses notices, and its receiver reports that; sending never waits. Clones share one feed.
#[derive(Clone, Debug)]
pub struct Feed(Arc<FeedState>);

#[derive(Debug)]
struct FeedState {
    sender: Sender<FeedItem>,
    history: Mutex<History>,
}

#[derive(Debug)]
struct History {
    /// The number of the last notice.
    last: u64,
    kept: VecDeque<FeedItem>,
    /// The last progress event of each running task.
    progress: HashMap<TaskId, PrintedEvent>,
}

impl Feed {
    pub(crate) fn new() -> Self {
        // Start above the numbers of earlier runs of the service, as a reconnecting listener may name one of those.
        let last = u64::try_from(now_milliseconds())
            .unwrap_or(0)
            .saturating_mul(1000);
        let history = History {
            last,
            kept: VecDeque::with_capacity(KEPT),
            progress: HashMap::new(),
        };
        Self(Arc::new(FeedState {
            sender: channel(KEPT).0,
            history: Mutex::new(history),
        }))
    }

    pub(crate) fn send(&self, notice: Notice) {
        let mut history = self.lock_history();
        history.last += 1;
        let item = FeedItem {
            id: history.last,
            notice,
        };
        if history.kept.len() == KEPT {
            history.kept.pop_front();
        }
        history.kept.push_back(item.clone());
        // Send while the history is locked, so that a listener that subscribes now gets the notice exactly once. An
        // error means that there is no listener.
        let _ = self.0.sender.send(item);
    }

    /// Records an event of a running task and returns it. An event without `progress` gets that of the last event.
    pub(crate) fn note_progress(&self, task: TaskId, mut event: PrintedEvent) -> PrintedEvent {
        let mut history = self.lock_history();
        if let Some(before) = history.progress.get(&task) {
            event = event.with_progress_of(before);
        }
        history.progress.insert(task, event.clone());
        event
    }

    /// Forgets the progress of a task that no longer runs.
    pub(crate) fn forget_progress(&self, task: TaskId) {
        self.lock_history().progress.remove(&task);
    }

    /// Subscribes to the feed: returns the kept notices after the item `after`, or `None` if some of them are no longer
    /// kept; and a receiver of the notices from now on.
    pub fn listen_after(&self, after: Option<u64>) -> (Option<Vec<FeedItem>>, Receiver<FeedItem>) {
        let history = self.lock_history();
        let receiver = self.0.sender.subscribe();
        let Some(after) = after else {
            return (Some(Vec::new()), receiver);
        };
        let first = history
            .kept
            .front()
            .map_or(history.last + 1, |item| item.id);
        let is_known = after.saturating_add(1) >= first && after <= history.last;
        let missed = history.kept.iter().filter(|item| item.id > after);
        (is_known.then(|| missed.cloned().collect()), receiver)
    }

    /// The last event of a running task.
    pub fn last_progress(&self, task: TaskId) -> Option<PrintedEvent> {
        self.lock_history().progress.get(&task).cloned()
    }

    fn lock_history(&self) -> MutexGuard<'_, History> {
        // The history is consistent after each statement, so a panic elsewhere does no harm.
        lock_ignoring_poison(&self.0.history)
    }
}

//! What happens, as it happens, for those who watch.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::Value;
use tokio::sync::broadcast::{Receiver, Sender, channel};
use utoipa::ToSchema;

use crate::database::now;
use crate::{Release, Task, TaskId};

/// The notices that are kept for listeners that are slow or come back.
const KEPT: usize = 1024;

/// Something that happened.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Notice {
    /// A task was submitted or changed its state or reason.
    Task {
        /// The task as it is now.
        task: Box<Task>,
    },
    /// A task's child told an event of measuring (`tuner::TuningEvent` as `colltune tune --events` prints it).
    Progress {
        /// The task.
        task: TaskId,
        /// The event.
        progress: serde_json::Value,
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
    /// What happened.
    #[serde(flatten)]
    pub notice: Notice,
}

/// Hands notices to all who listen, and keeps the last 1024 for those who come back. A listener that is further behind
/// loses notices, which its receiver tells; telling never waits. Clones are the same feed.
#[derive(Clone, Debug)]
pub struct Feed(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    sender: Sender<FeedItem>,
    told: Mutex<Told>,
}

#[derive(Debug)]
struct Told {
    /// The last number given.
    last: u64,
    kept: VecDeque<FeedItem>,
    /// The last progress of each running task.
    progress: HashMap<TaskId, Value>,
}

impl Feed {
    pub(crate) fn new() -> Self {
        // Beyond the numbers of earlier runs of the service, which a listener may come back with.
        let last = u64::try_from(now()).unwrap_or(0).saturating_mul(1000);
        let told = Told {
            last,
            kept: VecDeque::with_capacity(KEPT),
            progress: HashMap::new(),
        };
        Self(Arc::new(Inner {
            sender: channel(KEPT).0,
            told: Mutex::new(told),
        }))
    }

    pub(crate) fn tell(&self, notice: Notice) {
        let mut told = self.told();
        told.last += 1;
        let item = FeedItem {
            id: told.last,
            notice,
        };
        if told.kept.len() == KEPT {
            told.kept.pop_front();
        }
        told.kept.push_back(item.clone());
        // Still locked: a listener that begins now gets it once. It may be that there is none.
        let _ = self.0.sender.send(item);
    }

    /// Notes what a running task told. Returns it with the `progress` of an earlier event if it has none of its own.
    pub(crate) fn note_progress(&self, task: TaskId, mut event: Value) -> Value {
        let mut told = self.told();
        if let (Some(fields), Some(Value::Object(before))) =
            (event.as_object_mut(), told.progress.get(&task))
            && let Some(progress) = before.get("progress")
        {
            fields.entry("progress").or_insert_with(|| progress.clone());
        }
        told.progress.insert(task, event.clone());
        event
    }

    /// Forgets the progress of a task that does not run any more.
    pub(crate) fn forget_progress(&self, task: TaskId) {
        self.told().progress.remove(&task);
    }

    /// What comes from now on, and what was missed since the item `after`, if that is still known (`None` in the first
    /// place of the pair says that items were lost).
    pub fn listen(&self, after: Option<u64>) -> (Option<Vec<FeedItem>>, Receiver<FeedItem>) {
        let told = self.told();
        let receiver = self.0.sender.subscribe();
        let Some(after) = after else {
            return (Some(Vec::new()), receiver);
        };
        let first = told.kept.front().map_or(told.last + 1, |item| item.id);
        let is_known = after.saturating_add(1) >= first && after <= told.last;
        let missed = told.kept.iter().filter(|item| item.id > after);
        (is_known.then(|| missed.cloned().collect()), receiver)
    }

    /// The last event of a running task, for pages.
    pub fn progress(&self, task: TaskId) -> Option<Value> {
        self.told().progress.get(&task).cloned()
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        // Whole between statements, whatever panics.
        self.0.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

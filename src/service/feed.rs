//! What happens, as it happens, for those who watch.

use serde::Serialize;
use utoipa::ToSchema;

use crate::{Release, Task, TaskId};

/// Something that happened.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Notice {
    /// A task was submitted or changed its state or reason.
    Task {
        /// The task as it is now.
        task: Box<Task>,
    },
    /// A task's child told an event of measuring (`tuner::Event` as `colltune tune --events` prints it).
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

/// Hands notices to all who listen, and keeps the last 1024 for those who come back.
#[derive(Debug)]
pub struct Feed {}

impl Feed {
    pub(crate) fn new() -> Self {
        Self {}
    }

    pub(crate) fn tell(&self, notice: Notice) {
        todo!("{notice:?}")
    }

    /// What comes from now on, and what was missed since the item `after`, if that is still known (`None` in the first
    /// place of the pair says that items were lost).
    pub fn listen(
        &self,
        after: Option<u64>,
    ) -> (
        Option<Vec<FeedItem>>,
        tokio::sync::broadcast::Receiver<FeedItem>,
    ) {
        todo!("{after:?}")
    }

    /// The last event of a running task, for pages.
    pub fn progress(&self, task: TaskId) -> Option<serde_json::Value> {
        todo!("{task:?}")
    }
}

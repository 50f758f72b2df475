//! The queue of tasks: measuring, validating, checking and reporting.

mod campaign;
pub(crate) mod cancel;
mod held;
mod overrides;
mod read;
mod submit;

pub use self::held::HeldClaim;
pub(crate) use self::overrides::with_outputs;
use self::read::fetch_task;
pub(crate) use self::read::{optional_word_column, word_column};

use serde::Deserialize;
use utoipa::IntoParams;

use crate::{Task, TaskState};

/// The result of submitting a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Submitted {
    /// The task.
    pub task: Task,
    /// False if an earlier request of the same actor had the same idempotency key; `task` is then that request's
    /// task.
    pub is_new: bool,
}

/// The selection of tasks.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct TaskFilter {
    /// Only those in this state.
    pub state: Option<TaskState>,
    /// Only those of this machine.
    pub machine: Option<String>,
    /// Only those of this campaign, by its path.
    pub campaign: Option<String>,
    /// Only those of these machines, as for a reader of some machines.
    #[serde(skip)]
    #[param(ignore)]
    pub machines: Option<Vec<String>>,
}

//! Results of agents.

use serde_json::Value;

use super::{StoredClaim, WaitingTask, end_claim};
use crate::database::lock_ignoring_poison;
use crate::{Actor, Completed, Completion, Digest, Service, ServiceError, TaskKind, TaskState};

impl Service {
    /// Stores the result of a task that an agent has carried out. The same result may be sent any number of times. The
    /// first that is stored ends the task, also if the agent was silent for long or another one has the task by now; any
    /// later one is acknowledged and does not count.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`]; [`ServiceError::NotFound`] of the machine or claim; [`ServiceError::Conflict`] of a
    /// failure of an agent that does not have the task any more; [`ServiceError::Invalid`]; files and SQLite.
    pub fn complete_claim(
        &self,
        actor: &Actor,
        machine: &str,
        completion: &Completion,
    ) -> Result<Completed, ServiceError> {
        let machine = self.agent_machine(actor, machine)?;
        let _turn = lock_ignoring_poison(&self.runner.claiming);
        let claim = self.find_claim(&machine.name, &completion.claim)?;
        if let Some(counts) = claim.counts {
            return Ok(Completed { counts });
        }
        if claim.is_superseded() && completion.state != TaskState::Done && !claim.has_ended() {
            return Err(claim.superseded_error());
        }
        if claim.has_ended() {
            self.database.write(|transaction| {
                claim.count_node_seconds(transaction, completion.node_seconds)?;
                end_claim(transaction, claim.fence, false)
            })?;
            return Ok(Completed { counts: false });
        }
        self.store_completion(&claim, completion)?;
        self.feed.forget_progress(claim.task);
        self.runner.wake();
        Ok(Completed { counts: true })
    }

    /// Ends the task of a claim with its result.
    fn store_completion(
        &self,
        claim: &StoredClaim,
        completion: &Completion,
    ) -> Result<(), ServiceError> {
        let task = self
            .database
            .read(|connection| WaitingTask::read_claimed(connection, claim.task, claim.fence))?;
        let ended = EndedTask::from_completion(&task, completion)?;
        if let EndedTask::Tuned { digest, .. } = &ended {
            self.require_version(&task.machine, digest)?;
        }
        self.database
            .write(|transaction| claim.count_node_seconds(transaction, completion.node_seconds))?;
        let code = completion.exit_code;
        match ended {
            EndedTask::Tuned { outcome, digest } => {
                let text = self.read_blob(&digest);
                let text = text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
                self.settle_with_table(&task, outcome.clone(), text)
            }
            EndedTask::Answered(outcome) => self.settle_answered(&task, code, outcome),
            EndedTask::Failed => {
                let reason = files::shortened(&completion.reason, LONGEST_REASON);
                self.settle_failed(&task, code, &reason, completion.outcome.as_ref())
            }
            EndedTask::Cancelled => {
                self.settle_cancelled(&task, "cancelled; what was measured is kept")
            }
        }
    }
}

/// The longest reason that an agent may give, in bytes.
const LONGEST_REASON: usize = 2000;

/// The way in which a task has ended.
enum EndedTask<'a> {
    /// It has made a table.
    Tuned {
        outcome: &'a Value,
        digest: Digest,
    },
    /// It has answered: a validation, check or report.
    Answered(&'a Value),
    Failed,
    Cancelled,
}

impl<'a> EndedTask<'a> {
    fn from_completion(
        task: &WaitingTask,
        completion: &'a Completion,
    ) -> Result<Self, ServiceError> {
        let refuse = |field, problem: &str| Err(ServiceError::invalid(field, problem));
        match completion.state {
            TaskState::Failed => return Ok(Self::Failed),
            TaskState::Cancelled => return Ok(Self::Cancelled),
            TaskState::Waiting | TaskState::Running => {
                return refuse("state", "is not that of a task that has ended");
            }
            TaskState::Done => {}
        }
        let Some(outcome) = &completion.outcome else {
            return refuse("outcome", "is missing; a task that is done has one");
        };
        match (task.kind, &completion.table) {
            (TaskKind::Tune, Some(digest)) => Ok(Self::Tuned {
                outcome,
                digest: digest.clone(),
            }),
            (TaskKind::Tune, None) => refuse("table", "is missing; `tune` makes one"),
            _ => Ok(Self::Answered(outcome)),
        }
    }
}

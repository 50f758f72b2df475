//! Machines whose tasks an agent carries out on another host.
//!
//! The agent asks for everything: the service opens no connection. It claims a task, reports of it by heartbeats, and
//! completes it; each request may be lost on its way, or its answer on the way back, and is then sent again.
//!
//! - A claim has a fencing number. A claim whose agent is silent for [`LEASE`] may be given to another agent, with a
//!   larger number; the former agent is then refused.
//! - A result counts once: the first that is stored ends the task and its claim, in one transaction. A success counts
//!   even if its claim was superseded, as it was measured; a failure of a superseded claim does not.
//! - Campaigns go one way, from the agent's folder to the service. The agent carries out its own file or none.

mod claims;
mod completion;
mod heartbeat;

use std::collections::HashMap;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use vocabulary::units::format_counted;

use super::ITS_TURN;
use super::plan::WaitingTask;
use crate::database::{
    lock_ignoring_poison, machine_id, now_milliseconds, query_rows, to_timestamp,
};
use crate::tasks::word_column;
use crate::{
    Actor, ClaimId, MachineAgent, Scope, Service, ServiceError, ServiceMachine, TaskId, TaskState,
};

/// The time without a word of an agent after which tasks say that they wait for it.
const SILENCE: Duration = Duration::from_secs(90);
/// The time without a word about a claim after which another agent may take the task.
const LEASE: Duration = Duration::from_secs(300);
/// The precision of the times at which agents were heard, so that not every request is written to the disk.
const PRECISION: Duration = Duration::from_secs(20);
/// The longest name of an agent, of its host and of a nonce, in bytes.
const LONGEST_NAME: usize = 64;

/// A claim of an agent, and its task.
#[derive(Debug)]
struct StoredClaim {
    fence: u64,
    task: TaskId,
    task_state: TaskState,
    /// Whether the task is to be cancelled.
    cancel_asked: bool,
    heard_at: i64,
    node_seconds: f64,
    log_received: u64,
    /// Whether its result ended the task, if there is a result.
    counts: Option<bool>,
    /// The newest claim of the task.
    newest: u64,
}

impl Service {
    /// The agent of a machine, if it was ever heard.
    ///
    /// # Errors
    /// SQLite.
    pub fn find_agent(&self, machine: &str) -> Result<Option<MachineAgent>, ServiceError> {
        self.database.read(|connection| {
            let query = "SELECT host, heard_at FROM agent JOIN machine ON machine.id = agent.machine \
                         WHERE machine.name = ?1";
            let mut statement = connection.prepare_cached(query)?;
            let row = statement.query_row([machine], |row| {
                let heard_at = to_timestamp(row.get(1)?)?;
                let host = row.get(0)?;
                Ok(MachineAgent { host, heard_at })
            });
            Ok(row.optional()?)
        })
    }

    /// Whether an agent carries out the tasks of a machine.
    pub(crate) fn has_agent(&self, machine: &str) -> bool {
        let found = self.configuration.find_machine(machine);
        found.is_ok_and(|machine| machine.has_agent)
    }

    /// The machine that an actor is the agent of.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`]; [`ServiceError::NotFound`]; [`ServiceError::Conflict`] if it has no agent.
    pub(crate) fn agent_machine(
        &self,
        actor: &Actor,
        name: &str,
    ) -> Result<&ServiceMachine, ServiceError> {
        actor.require_scope(Scope::Agent, Some(name))?;
        let machine = self.configuration.find_machine(name)?;
        if machine.has_agent {
            Ok(machine)
        } else {
            Err(ServiceError::Conflict(format!(
                "the service carries out the tasks of `{name}` itself; write `agent: true` for this machine in service.yaml"
            )))
        }
    }

    /// The reason why a task of a machine with an agent waits.
    pub(super) fn agent_obstacle(
        &self,
        task: &WaitingTask,
        accounts: &mut HashMap<String, f64>,
    ) -> Result<String, ServiceError> {
        if let Some(reason) = self.claim_obstacle(task, accounts)? {
            return Ok(reason);
        }
        let name = &task.machine;
        let Some(agent) = self.find_agent(name)? else {
            return Ok(format!(
                "waits for the agent of {name}, which was never heard; start `colltune agent --machine {name}` there"
            ));
        };
        let silent = now_milliseconds() - agent.heard_at.as_millisecond();
        Ok(if silent < self.in_milliseconds(SILENCE) {
            ITS_TURN.to_owned()
        } else {
            format!(
                "waits for the agent of {name}, {}",
                describe_silence(silent)
            )
        })
    }

    /// The reason why no agent may take a task now, if there is one.
    fn claim_obstacle(
        &self,
        task: &WaitingTask,
        accounts: &mut HashMap<String, f64>,
    ) -> Result<Option<String>, ServiceError> {
        if let Some(schedule) = &task.schedule
            && let Some(reason) = self.schedule_obstacle(schedule)?
        {
            return Ok(Some(reason));
        }
        let machine = self.configuration.find_machine(&task.machine)?;
        self.node_hours_obstacle(task, machine, accounts)
    }

    /// Says of each task whose agent is silent that it waits for the agent; cancels those that are to be cancelled.
    pub(super) fn tend_silent_claims(&self) -> Result<(), ServiceError> {
        for machine in &self.configuration.machines {
            if !machine.has_agent {
                continue;
            }
            let _turn = lock_ignoring_poison(&self.runner.claiming);
            let now = now_milliseconds();
            let running = self
                .database
                .read(|connection| list_running_claims(connection, &machine.name))?;
            for RunningClaim {
                task,
                cancel_asked,
                heard_at,
                reason,
                ..
            } in running
            {
                let silent = now - heard_at;
                if silent < self.in_milliseconds(LEASE) {
                    continue;
                }
                if cancel_asked {
                    let why =
                        "cancelled while its agent was silent; the agent ends it when it is back";
                    self.settle_cancelled(task, why)?;
                    continue;
                }
                let name = &machine.name;
                let waits = format!(
                    "waits for the agent of {name}, {}",
                    describe_silence(silent)
                );
                if waits != reason {
                    self.database.execute(
                        "UPDATE task SET reason = ?2 WHERE id = ?1 AND state = 'running'",
                        params![task, waits],
                    )?;
                    self.announce_tasks(&[task]);
                }
            }
        }
        Ok(())
    }

    /// A time in milliseconds, shortened as all waiting times are in tests.
    fn in_milliseconds(&self, time: Duration) -> i64 {
        i64::try_from(self.runner.scale_time(time).as_millis()).unwrap_or(i64::MAX)
    }

    /// The claim of a machine with this identity.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`].
    fn find_claim(&self, machine: &str, claim: &ClaimId) -> Result<StoredClaim, ServiceError> {
        let found = self.database.read(|connection| {
            let query = "SELECT claim.task, state, cancel_asked, claim.heard_at, claim.node_seconds, log_received, \
                         counts, (SELECT max(fence) FROM claim AS other WHERE other.task = claim.task) \
                         FROM claim JOIN task ON task.id = claim.task JOIN machine ON machine.id = task.machine \
                         WHERE fence = ?1 AND nonce = ?2 AND machine.name = ?3";
            let mut statement = connection.prepare_cached(query)?;
            // No row has a larger number.
            let fence = i64::try_from(claim.fence).unwrap_or(i64::MAX);
            let row = statement.query_row(params![fence, claim.nonce, machine], |row| {
                Ok(StoredClaim {
                    fence: claim.fence,
                    task: row.get(0)?,
                    task_state: word_column(row, 1)?,
                    cancel_asked: row.get(2)?,
                    heard_at: row.get(3)?,
                    node_seconds: row.get(4)?,
                    log_received: row.get(5)?,
                    counts: row.get(6)?,
                    newest: row.get(7)?,
                })
            });
            Ok(row.optional()?)
        })?;
        found.ok_or_else(|| ServiceError::not_found("claim", claim.fence))
    }
}

impl StoredClaim {
    /// Whether another agent has the task.
    fn is_superseded(&self) -> bool {
        self.newest != self.fence
    }

    /// The refusal of what is reported of a claim that another one has superseded.
    fn superseded_error(&self) -> ServiceError {
        let Self {
            fence,
            task,
            newest,
            ..
        } = self;
        ServiceError::Conflict(format!(
            "claim {fence} of task {task} is superseded by claim {newest}: another agent has the task"
        ))
    }

    /// Whether the task has ended.
    fn has_ended(&self) -> bool {
        !matches!(self.task_state, TaskState::Waiting | TaskState::Running)
    }

    /// Stores the node-seconds of a claim, of which the earlier ones are counted already.
    fn count_node_seconds(
        &self,
        transaction: &Transaction<'_>,
        node_seconds: f64,
    ) -> Result<(), ServiceError> {
        let more = node_seconds - self.node_seconds;
        // NaN is not more, either.
        if more > 0.0 && more.is_finite() {
            transaction.execute(
                "UPDATE claim SET node_seconds = ?2 WHERE fence = ?1",
                params![self.fence, node_seconds],
            )?;
            transaction.execute(
                "UPDATE task SET node_seconds = node_seconds + ?2 WHERE id = ?1",
                params![self.task, more],
            )?;
        }
        Ok(())
    }
}

/// The newest claim of a running task.
#[derive(Debug)]
struct RunningClaim {
    fence: u64,
    task: TaskId,
    cancel_asked: bool,
    reason: String,
    agent: String,
    heard_at: i64,
}

/// The newest claims of the running tasks of a machine, the oldest first.
fn list_running_claims(
    connection: &Connection,
    machine: &str,
) -> Result<Vec<RunningClaim>, ServiceError> {
    let query = "SELECT fence, claim.task, cancel_asked, reason, agent, claim.heard_at FROM task \
                 JOIN machine ON machine.id = task.machine \
                 JOIN claim ON fence = (SELECT max(newest.fence) FROM claim AS newest WHERE newest.task = task.id) \
                 WHERE state = 'running' AND machine.name = ?1 ORDER BY fence";
    query_rows(connection, query, [machine], |row| {
        Ok(RunningClaim {
            fence: row.get(0)?,
            task: row.get(1)?,
            cancel_asked: row.get(2)?,
            reason: row.get(3)?,
            agent: row.get(4)?,
            heard_at: row.get(5)?,
        })
    })
}

/// Records that a claim has its result, and whether this ended the task.
pub(super) fn end_claim(
    transaction: &Transaction<'_>,
    fence: u64,
    counts: bool,
) -> Result<(), ServiceError> {
    transaction.execute(
        "UPDATE claim SET counts = ?2 WHERE fence = ?1",
        params![fence, counts],
    )?;
    Ok(())
}

/// Records that an agent was heard.
fn note_agent(
    transaction: &Transaction<'_>,
    machine: &str,
    agent: &str,
    host: &str,
    precision: i64,
) -> Result<(), ServiceError> {
    let machine = machine_id(transaction, machine)?;
    // The clock may have been set back.
    transaction.execute(
        "INSERT INTO agent (machine, name, host, heard_at) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT (machine) DO UPDATE SET name = excluded.name, host = excluded.host, heard_at = excluded.heard_at \
         WHERE agent.name <> excluded.name OR agent.host <> excluded.host \
         OR abs(excluded.heard_at - agent.heard_at) >= ?5",
        params![machine, agent, host, now_milliseconds(), precision],
    )?;
    Ok(())
}

/// The silence of an agent in words that rarely change, as waiting tasks store them: "not heard for more than 10 min".
fn describe_silence(milliseconds: i64) -> String {
    const STEPS: [(i64, u32, &str); 8] = [
        (7 * 86_400, 7, "day"),
        (86_400, 1, "day"),
        (6 * 3600, 6, "hour"),
        (3600, 1, "hour"),
        (1800, 30, "minute"),
        (600, 10, "minute"),
        (300, 5, "minute"),
        (60, 1, "minute"),
    ];
    let seconds = milliseconds / 1000;
    let step = STEPS.iter().find(|(least, ..)| seconds >= *least);
    match step {
        Some((_, count, unit)) => {
            format!("not heard for more than {}", format_counted(*count, unit))
        }
        None => "not heard at the moment".to_owned(),
    }
}

/// Refuses a name that is not of 1 to 64 letters and digits.
fn check_plain_name(field: &'static str, name: &str) -> Result<(), ServiceError> {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_plain && (1..=LONGEST_NAME).contains(&name.len()) {
        Ok(())
    } else {
        let problem = format!("has 1 to {LONGEST_NAME} letters and digits");
        Err(ServiceError::invalid(field, problem))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_described_in_few_steps() {
        for (seconds, expected) in [
            (0, "not heard at the moment"),
            (61, "not heard for more than 1 minute"),
            (899, "not heard for more than 10 minutes"),
            (86_399, "not heard for more than 6 hours"),
            (86_400 * 400, "not heard for more than 7 days"),
        ] {
            assert_eq!(describe_silence(seconds * 1000), expected, "{seconds}");
        }
    }
}

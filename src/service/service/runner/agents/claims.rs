//! Claims: agents take tasks.

use std::collections::HashMap;

use rusqlite::params;

use super::{
    LEASE, LONGEST_NAME, PRECISION, RunningClaim, WaitingTask, check_plain_name,
    list_running_claims, note_agent,
};
use crate::database::{lock_ignoring_poison, now_milliseconds};
use crate::{
    Actor, ClaimId, ClaimRequest, ClaimedTask, Digest, Service, ServiceError, ServiceMachine,
    TaskId,
};

/// The number of random bytes in a nonce.
const NONCE_BYTES: usize = 16;

impl Service {
    /// Gives a task to the agent of a machine: one that it has claimed before without getting the answer; one whose agent
    /// has been silent for too long; or the oldest that may start. `None` if there is none, or if the agents have as many
    /// as the machine may run at once.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`]; [`ServiceError::NotFound`] and [`ServiceError::Conflict`] of the machine;
    /// [`ServiceError::Invalid`]; SQLite.
    pub fn claim_task(
        &self,
        actor: &Actor,
        machine: &str,
        request: &ClaimRequest,
    ) -> Result<Option<ClaimedTask>, ServiceError> {
        let machine = self.agent_machine(actor, machine)?;
        check_plain_name("agent", &request.agent)?;
        let host = files::shortened(&request.host, LONGEST_NAME);
        let precision = self.in_milliseconds(PRECISION);
        let _turn = lock_ignoring_poison(&self.runner.claiming);
        self.database.write(|transaction| {
            note_agent(transaction, &machine.name, &request.agent, &host, precision)
        })?;
        if let Some(claim) = self.find_lost_claim(machine, request)? {
            return self.describe_claim(claim).map(Some);
        }
        let Some(task) = self.find_claimable_task(machine, request)? else {
            return Ok(None);
        };
        match self.add_claim(task, &request.agent)? {
            Some(claim) => {
                self.announce_tasks(&[task]);
                self.describe_claim(claim).map(Some)
            }
            None => Ok(None),
        }
    }

    /// The oldest claim of an agent that it does not know of, because the answer was lost.
    fn find_lost_claim(
        &self,
        machine: &ServiceMachine,
        request: &ClaimRequest,
    ) -> Result<Option<u64>, ServiceError> {
        let running = self
            .database
            .read(|connection| list_running_claims(connection, &machine.name))?;
        let lost = running
            .iter()
            .find(|claim| claim.agent == request.agent && !request.held.contains(&claim.fence));
        Ok(lost.map(|claim| claim.fence))
    }

    /// The task that an agent may take now.
    fn find_claimable_task(
        &self,
        machine: &ServiceMachine,
        request: &ClaimRequest,
    ) -> Result<Option<TaskId>, ServiceError> {
        let running = self
            .database
            .read(|connection| list_running_claims(connection, &machine.name))?;
        let oldest_word = now_milliseconds() - self.in_milliseconds(LEASE);
        let is_abandoned = |claim: &&RunningClaim| {
            claim.agent != request.agent && claim.heard_at < oldest_word && !claim.cancel_asked
        };
        if let Some(abandoned) = running.iter().find(is_abandoned) {
            return Ok(Some(abandoned.task));
        }
        if running.len() >= machine.tasks as usize {
            return Ok(None);
        }
        let waiting = self.database.read(WaitingTask::read_all)?;
        let mut accounts = HashMap::new();
        for task in waiting {
            let is_of_machine = task.machine == machine.name && !task.cancel_asked;
            if is_of_machine && self.claim_obstacle(&task, &mut accounts)?.is_none() {
                return Ok(Some(task.id));
            }
        }
        Ok(None)
    }

    /// Gives a task to an agent. Returns the fencing number; `None` if the task has just been cancelled.
    fn add_claim(&self, task: TaskId, agent: &str) -> Result<Option<u64>, ServiceError> {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).map_err(ServiceError::Random)?;
        let nonce = files::hexadecimal(&nonce);
        let now = now_milliseconds();
        self.database.write(|transaction| {
            let started = transaction.execute(
                "UPDATE task SET state = 'running', reason = 'the agent has it', \
                 started_at = coalesce(started_at, ?2), attempts = attempts + 1, not_before = NULL, exit_code = NULL, \
                 outcome = NULL WHERE id = ?1 AND state IN ('waiting', 'running') AND cancel_asked = 0",
                params![task, now],
            )?;
            if started == 0 {
                return Ok(None);
            }
            transaction.execute(
                "INSERT INTO claim (nonce, task, agent, heard_at) VALUES (?1, ?2, ?3, ?4)",
                params![nonce, task, agent, now],
            )?;
            Ok(u64::try_from(transaction.last_insert_rowid()).ok())
        })
    }

    /// A claim as the agent gets it.
    fn describe_claim(&self, fence: u64) -> Result<ClaimedTask, ServiceError> {
        let (task, nonce, text): (TaskId, String, Option<String>) =
            self.database.read(|connection| {
                let query = "SELECT claim.task, nonce, campaign.text FROM claim JOIN task ON task.id = claim.task \
                             LEFT JOIN campaign ON campaign.id = task.campaign WHERE fence = ?1";
                let row = connection.query_row(query, [fence], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                })?;
                Ok(row)
            })?;
        let described = self.read_task(task)?;
        let table = match &described.request.table {
            Some(digest) => Some(String::from_utf8_lossy(&self.read_blob(digest)?).into_owned()),
            None => None,
        };
        Ok(ClaimedTask {
            claim: ClaimId { fence, nonce },
            task,
            request: described.request,
            campaign: Digest::of_bytes(text.unwrap_or_default().as_bytes()),
            schedule: described.schedule,
            table,
        })
    }
}

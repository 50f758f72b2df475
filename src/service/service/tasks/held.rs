//! Claims that this service has as an agent of another one: what it carries out for it, and what is not acknowledged
//! yet. They are rows of the database, so that a kill loses none.

use std::io::ErrorKind;

use rusqlite::{OptionalExtension, Transaction, params};

use super::submit::{Origin, ScheduledOrigin, add_task, invalid_json};
use crate::database::{now_milliseconds, query_rows};
use crate::{ClaimId, ClaimedTask, Digest, LogChunk, Notice, Service, ServiceError, TaskId};

/// The actor of claimed tasks.
const ACTOR: &str = "service";
/// The file in the state folder with the agent's name.
const NAME_FILE: &str = "agent-name";
/// The number of random bytes in an agent's name.
const NAME_BYTES: usize = 16;
/// The most bytes of a log that are sent at once.
const MOST_LOG: u64 = 64 << 10;

/// A claim whose result is not acknowledged yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldClaim {
    /// The claim.
    pub claim: ClaimId,
    /// The other service's task.
    pub remote_task: TaskId,
    /// The task here that carries it out, or the reason why there is none.
    pub task: Result<TaskId, String>,
    /// The bytes of the log that were sent.
    pub log_sent: u64,
}

impl Service {
    /// The random name by which the other service knows this folder's agent; made when it is first asked for.
    ///
    /// # Errors
    /// Files; [`ServiceError::Random`].
    pub fn agent_name(&self) -> Result<String, ServiceError> {
        let path = self.configuration.state.join(NAME_FILE);
        match files::read_text(&path) {
            Ok(name) => return Ok(name.trim().to_owned()),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(ServiceError::on_file("read", &path)(error)),
        }
        let mut bytes = [0; NAME_BYTES];
        getrandom::fill(&mut bytes).map_err(ServiceError::Random)?;
        let name = files::hexadecimal(&bytes);
        files::write(&path, name.as_bytes()).map_err(ServiceError::on_file("write", &path))?;
        Ok(name)
    }

    /// Takes in a claim: submits its task here, with the campaign of this folder. Whatever the other service says, only
    /// campaigns of this folder are carried out, and only if they are the ones with which the task was submitted. A task
    /// that cannot be carried out is held with the reason. Taking in a claim again changes nothing.
    ///
    /// # Errors
    /// Files and SQLite.
    pub fn hold_claim(&self, claimed: &ClaimedTask) -> Result<(), ServiceError> {
        if self.is_held(&claimed.claim)? {
            return Ok(());
        }
        let submitted = match self.submit_claimed(claimed) {
            Err(error @ (ServiceError::Database(_) | ServiceError::Random(_))) => {
                return Err(error);
            }
            Err(error) if error.is_disk_fault() => return Err(error),
            submitted => submitted,
        };
        match submitted {
            Ok(()) => Ok(()),
            Err(problem) => self.refuse_claim(&claimed.claim, claimed.task, &problem.to_string()),
        }
    }

    /// Holds a claim that cannot be carried out, so that the reason becomes its result.
    ///
    /// # Errors
    /// SQLite.
    pub fn refuse_claim(
        &self,
        claim: &ClaimId,
        remote_task: TaskId,
        problem: &str,
    ) -> Result<(), ServiceError> {
        self.database.write(|transaction| {
            add_held_claim(transaction, claim, remote_task, None, Some(problem))
        })
    }

    fn is_held(&self, claim: &ClaimId) -> Result<bool, ServiceError> {
        self.database.read(|connection| {
            let query = "SELECT 1 FROM held_claim WHERE fence = ?1 AND nonce = ?2";
            let found = connection.query_row(query, params![claim.fence, claim.nonce], |_| Ok(()));
            Ok(found.optional()?.is_some())
        })
    }

    /// Submits the task of a claim, and holds the claim in the same transaction.
    fn submit_claimed(&self, claimed: &ClaimedTask) -> Result<(), ServiceError> {
        let request = claimed.request.clone();
        let name = request.machine.as_deref().unwrap_or_default();
        let machine = self.configuration.find_machine(name)?;
        if let Some(text) = &claimed.table {
            self.add_found_table(&machine.name, text)?;
        }
        let json = serde_json::to_string(&request).map_err(invalid_json)?;
        let prepared = self.read_request(machine, request, json)?;
        if Digest::of_bytes(prepared.campaign.text.as_bytes()) != claimed.campaign {
            let path = &prepared.campaign.path;
            return Err(ServiceError::Conflict(format!(
                "{path} on this host is not what the task was submitted with: it has been changed; submit the task again"
            )));
        }
        let origin = Origin {
            actor: ACTOR,
            key: Some(&claimed.claim.nonce),
            schedule: claimed.schedule.as_deref().map(|name| ScheduledOrigin {
                name,
                why: "the service's schedule",
            }),
        };
        let submitted = self.database.write(|transaction| {
            let submitted = add_task(transaction, &prepared, &origin)?;
            let here = Some(submitted.task.id);
            add_held_claim(transaction, &claimed.claim, claimed.task, here, None)?;
            Ok(submitted)
        })?;
        self.feed.send(Notice::Task {
            task: Box::new(submitted.task),
        });
        self.runner.wake();
        Ok(())
    }

    /// The claims whose results are not acknowledged yet, the oldest first.
    ///
    /// # Errors
    /// SQLite.
    pub fn held_claims(&self) -> Result<Vec<HeldClaim>, ServiceError> {
        self.database.read(|connection| {
            let query = "SELECT fence, nonce, remote_task, task, problem, log_sent FROM held_claim \
                         WHERE ended_at IS NULL ORDER BY fence";
            query_rows(connection, query, [], |row| {
                let task: Option<TaskId> = row.get(3)?;
                let problem: Option<String> = row.get(4)?;
                Ok(HeldClaim {
                    claim: ClaimId {
                        fence: row.get(0)?,
                        nonce: row.get(1)?,
                    },
                    remote_task: row.get(2)?,
                    task: task.ok_or_else(|| problem.unwrap_or_default()),
                    log_sent: row.get(5)?,
                })
            })
        })
    }

    /// The next part of a held task's log to be sent: whole lines, unless the task has ended. `None` if there is none.
    ///
    /// # Errors
    /// Files and SQLite.
    pub fn next_log_chunk(
        &self,
        id: TaskId,
        from: u64,
        has_ended: bool,
    ) -> Result<Option<LogChunk>, ServiceError> {
        let part = match self.read_log_part(id, from, MOST_LOG) {
            Err(ServiceError::NoLog(_)) => return Ok(None),
            part => part?,
        };
        let is_end = part.next >= part.length;
        let mut chunk = LogChunk {
            from,
            text: part.text,
            next: part.next,
        };
        if !(has_ended && is_end) {
            // What follows the last line's end is sent with the rest of its line, unless the line is too long.
            let rest = match chunk.text.rfind('\n') {
                Some(end) => chunk.text.len() - end - 1,
                None if is_end => chunk.text.len(),
                None => 0,
            };
            chunk.text.truncate(chunk.text.len() - rest);
            chunk.next = chunk.next.saturating_sub(rest as u64);
        }
        Ok((chunk.next > chunk.from).then_some(chunk))
    }

    /// Records how much of a held task's log the other service has.
    ///
    /// # Errors
    /// SQLite.
    pub fn note_log_sent(&self, claim: &ClaimId, next: u64) -> Result<(), ServiceError> {
        self.database.execute(
            "UPDATE held_claim SET log_sent = ?3 WHERE fence = ?1 AND nonce = ?2",
            params![claim.fence, claim.nonce, next],
        )?;
        Ok(())
    }

    /// Records that the other service has acknowledged the result of a claim, or does not want it.
    ///
    /// # Errors
    /// SQLite.
    pub fn let_claim_go(&self, claim: &ClaimId) -> Result<(), ServiceError> {
        self.database.execute(
            "UPDATE held_claim SET ended_at = ?3 WHERE fence = ?1 AND nonce = ?2",
            params![claim.fence, claim.nonce, now_milliseconds()],
        )?;
        Ok(())
    }
}

fn add_held_claim(
    transaction: &Transaction<'_>,
    claim: &ClaimId,
    remote_task: TaskId,
    task: Option<TaskId>,
    problem: Option<&str>,
) -> Result<(), ServiceError> {
    let ClaimId { fence, nonce } = claim;
    transaction.execute(
        "INSERT OR IGNORE INTO held_claim (fence, nonce, remote_task, task, problem) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![fence, nonce, remote_task, task, problem],
    )?;
    Ok(())
}

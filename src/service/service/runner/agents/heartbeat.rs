//! Heartbeats: what agents tell of the tasks that they carry out.

use rusqlite::params;

use super::super::lines::keep_log;
use super::{PRECISION, StoredClaim};
use crate::database::{lock_ignoring_poison, now_milliseconds};
use crate::modes::OWN_MODE;
use crate::{Actor, Heartbeat, HeartbeatAnswer, LogChunk, Notice, Service, ServiceError, TaskId};

/// The longest reason that an agent may give, in bytes.
const LONGEST_REASON: usize = 1000;

impl Service {
    /// Stores what an agent tells of a task that it carries out, and says what it is to do.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`]; [`ServiceError::NotFound`] of the machine or claim; [`ServiceError::Conflict`] if
    /// another agent has the task, or if it has ended: this agent then gives it up; files and SQLite.
    pub fn note_heartbeat(
        &self,
        actor: &Actor,
        machine: &str,
        heartbeat: &Heartbeat,
    ) -> Result<HeartbeatAnswer, ServiceError> {
        let machine = self.agent_machine(actor, machine)?;
        let _turn = lock_ignoring_poison(&self.runner.claiming);
        let claim = self.find_claim(&machine.name, &heartbeat.claim)?;
        let id = claim.task;
        if claim.is_superseded() {
            return Err(claim.superseded_error());
        }
        if claim.has_ended() {
            return Err(ServiceError::Conflict(format!(
                "task {id} has ended: it is {}",
                claim.task_state
            )));
        }
        let log_next = match &heartbeat.log {
            Some(chunk) => self.append_log(id, &claim, chunk)?,
            None => claim.log_received,
        };
        let is_news = self.store_heartbeat(&claim, heartbeat, log_next)?;
        if is_news {
            self.announce_tasks(&[id]);
        }
        self.tell_progress(id, heartbeat);
        Ok(HeartbeatAnswer {
            cancel: claim.cancel_asked,
            log_next,
        })
    }

    /// Stores the parts of a heartbeat that are in the database. Returns whether the task's reason has changed.
    fn store_heartbeat(
        &self,
        claim: &StoredClaim,
        heartbeat: &Heartbeat,
        log_next: u64,
    ) -> Result<bool, ServiceError> {
        let now = now_milliseconds();
        let precision = self.in_milliseconds(PRECISION);
        let reason = files::shortened(&heartbeat.reason, LONGEST_REASON);
        self.database.write(|transaction| {
            if (now - claim.heard_at).abs() >= precision || log_next != claim.log_received {
                transaction.execute(
                    "UPDATE claim SET heard_at = ?2, log_received = ?3 WHERE fence = ?1",
                    params![claim.fence, now, log_next],
                )?;
                transaction.execute(
                    "UPDATE agent SET heard_at = ?2 WHERE name = (SELECT agent FROM claim WHERE fence = ?1)",
                    params![claim.fence, now],
                )?;
            }
            claim.count_node_seconds(transaction, heartbeat.node_seconds)?;
            let changed = transaction.execute(
                "UPDATE task SET reason = ?2 WHERE id = ?1 AND reason <> ?2 AND cancel_asked = 0",
                params![claim.task, reason.as_ref()],
            )?;
            Ok(changed > 0)
        })
    }

    /// Appends a part of an agent's log that follows the parts before it. Returns the first byte that is lacking.
    fn append_log(
        &self,
        id: TaskId,
        claim: &StoredClaim,
        chunk: &LogChunk,
    ) -> Result<u64, ServiceError> {
        // It was received before, and its answer lost; or a part before it was.
        if chunk.from != claim.log_received || chunk.next <= chunk.from {
            return Ok(claim.log_received);
        }
        let folder = self.task_folder(id);
        files::create_folder(&folder, OWN_MODE)
            .map_err(ServiceError::on_file("create", &folder))?;
        let path = folder.join("log");
        let kept = keep_log(chunk.text.as_bytes(), &path, |error| {
            self.disk.note_error(error)
        });
        kept.map_err(ServiceError::on_file("write", &path))?;
        Ok(chunk.next)
    }

    /// Tells listeners of the progress of a task.
    fn tell_progress(&self, id: TaskId, heartbeat: &Heartbeat) {
        let Some(event) = &heartbeat.progress else {
            return;
        };
        let before = self.feed.last_progress(id);
        let progress = self.feed.note_progress(id, event.clone());
        if before.as_ref() != Some(&progress) {
            self.feed.send(Notice::Progress { task: id, progress });
        }
    }
}

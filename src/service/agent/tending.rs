//! What an agent tells of the tasks that it carries out: heartbeats, logs, results.

use std::time::Instant;

use answers::{
    Completed, Completion, Heartbeat, HeartbeatAnswer, LogChunk, PrintedEvent, Task, TaskState,
};
use client::{Ask, RemoteError, encode_step};
use serde_json::json;
use service::{Actor, HeldClaim, Scope, ServiceError};

use crate::error::Refusal;
use crate::{Agent, AgentError, AgentNote};

/// What the service was last told of a task.
#[derive(Debug)]
pub(crate) struct Told {
    at: Instant,
    reason: String,
    progress: Option<PrintedEvent>,
}

/// Whether a claim is still valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Validity {
    Valid,
    Void,
}

impl Agent {
    /// Tells the service of a task that runs; sends the result of one that has ended.
    pub(crate) fn tend_claim(
        &mut self,
        held: &HeldClaim,
        report: &mut impl FnMut(AgentNote<'_>),
    ) -> Result<(), AgentError> {
        let id = match &held.task {
            Ok(id) => *id,
            Err(problem) => {
                let refused = failed_completion(held, problem.clone());
                return self.send_result(held, &refused, report);
            }
        };
        let task = self.local.read_task(id)?;
        if !task.has_ended() {
            return self.tell_running(held, &task);
        }
        self.send_rest_of_log(held, &task)?;
        let completion = match self.send_table(&task)? {
            Ok(()) => completion_of_task(held, &task),
            Err(refusal) => {
                let reason = format!("the service refused its table: {refusal}");
                failed_completion(held, reason)
            }
        };
        self.send_result(held, &completion, report)
    }

    /// Sends a heartbeat of a task that waits or runs, if there is news or one is due.
    fn tell_running(&mut self, held: &HeldClaim, task: &Task) -> Result<(), AgentError> {
        let progress = self.local.feed().last_progress(task.id);
        let is_due = self.told.get(&held.claim.fence).is_none_or(|told| {
            told.at.elapsed() >= self.pace.heartbeat
                || told.reason != task.reason
                || told.progress != progress
        });
        let log = self.local.next_log_chunk(task.id, held.log_sent, false)?;
        if !is_due && log.is_none() {
            return Ok(());
        }
        let told = Told {
            at: Instant::now(),
            reason: task.reason.clone(),
            progress: progress.clone(),
        };
        if self.send_heartbeat(held, task, progress, log)? == Validity::Void {
            self.cancel_here(task)?;
        }
        self.told.insert(held.claim.fence, told);
        Ok(())
    }

    /// Sends a heartbeat with a part of the log. Cancels the task if the service wants that.
    fn send_heartbeat(
        &self,
        held: &HeldClaim,
        task: &Task,
        progress: Option<PrintedEvent>,
        log: Option<LogChunk>,
    ) -> Result<Validity, AgentError> {
        let log_end = log.as_ref().map(|chunk| chunk.next);
        let body = json!(Heartbeat {
            claim: held.claim.clone(),
            reason: task.reason.clone(),
            node_seconds: task.node_seconds,
            progress,
            log,
        });
        let path = format!("{}/heartbeat", self.path);
        let sent = self.remote.request_as(Ask::post(&path, &body));
        match sent {
            Ok((_, HeartbeatAnswer { cancel, log_next })) => {
                if log_next != held.log_sent {
                    self.local.note_log_sent(&held.claim, log_next)?;
                }
                if cancel && !task.has_ended() {
                    self.cancel_here(task)?;
                }
                Ok(Validity::Valid)
            }
            Err(error) => match Refusal::of_error(&error) {
                Refusal::Void => Ok(Validity::Void),
                // A part of the log that the service cannot take must not keep the result.
                Refusal::Content if log_end.is_some() => {
                    let next = log_end.unwrap_or_default();
                    self.local.note_log_sent(&held.claim, next)?;
                    Ok(Validity::Valid)
                }
                _ => Err(error.into()),
            },
        }
    }

    /// Cancels the task here; it may have ended meanwhile.
    fn cancel_here(&self, task: &Task) -> Result<(), AgentError> {
        let service = Actor {
            name: "service".to_owned(),
            scopes: vec![Scope::Admin],
            machines: Vec::new(),
        };
        match self.local.cancel_task(&service, task.id) {
            Ok(_) | Err(ServiceError::Conflict(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends what the service lacks of the log of a task that has ended.
    fn send_rest_of_log(&self, held: &HeldClaim, task: &Task) -> Result<(), AgentError> {
        let mut current = held.clone();
        loop {
            let chunk = self.local.next_log_chunk(task.id, current.log_sent, true)?;
            let Some(chunk) = chunk else { return Ok(()) };
            let end = chunk.next;
            if self.send_heartbeat(&current, task, None, Some(chunk))? == Validity::Void {
                return Ok(());
            }
            let claims = self.local.held_claims()?;
            let sent = claims.into_iter().find(|other| other.claim == held.claim);
            // The service is always further than before, or has not got this part and is asked once more later.
            match sent {
                Some(next) if next.log_sent >= end => current = next,
                _ => return Ok(()),
            }
        }
    }

    /// Adds the table that a task has made to those of the service's machine. The inner error is a refusal for good.
    fn send_table(&self, task: &Task) -> Result<Result<(), RemoteError>, AgentError> {
        let Some(digest) = task.made.as_ref().filter(|_| task.state == TaskState::Done) else {
            return Ok(Ok(()));
        };
        let text = self.local.read_blob(digest)?;
        let text = String::from_utf8_lossy(&text);
        let path = format!("/machines/{}/tables", encode_step(&self.machine));
        match self.remote.request_json(Ask::post_text(&path, &text)) {
            Ok(_) => Ok(Ok(())),
            Err(error) if Refusal::of_error(&error) == Refusal::Later => Err(error.into()),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Sends a result, and forgets the claim if it is acknowledged or void. A result that the service cannot take is
    /// replaced by a failure that says so.
    fn send_result(
        &mut self,
        held: &HeldClaim,
        completion: &Completion,
        report: &mut impl FnMut(AgentNote<'_>),
    ) -> Result<(), AgentError> {
        let task = held.remote_task;
        let mut sent = self.complete_claim(completion);
        if let Err(error) = &sent
            && Refusal::of_error(error) == Refusal::Content
        {
            let reason = format!("the service refused the result: {error}");
            sent = self.complete_claim(&failed_completion(held, reason));
        }
        match sent {
            Ok(Completed { counts }) => report(AgentNote::Acknowledged { task, counts }),
            Err(error) if Refusal::of_error(&error) == Refusal::Later => return Err(error.into()),
            Err(reason) => report(AgentNote::Unwanted {
                task,
                reason: &reason,
            }),
        }
        self.local.let_claim_go(&held.claim)?;
        self.told.remove(&held.claim.fence);
        Ok(())
    }

    fn complete_claim(&self, completion: &Completion) -> Result<Completed, RemoteError> {
        let path = format!("{}/complete", self.path);
        let (_, completed) = self
            .remote
            .request_as(Ask::post(&path, &json!(completion)))?;
        Ok(completed)
    }
}

/// The result of a task that has ended here.
fn completion_of_task(held: &HeldClaim, task: &Task) -> Completion {
    Completion {
        claim: held.claim.clone(),
        state: task.state,
        reason: task.reason.clone(),
        exit_code: task.exit_code,
        outcome: task.outcome.clone(),
        node_seconds: task.node_seconds,
        table: task.made.clone(),
    }
}

/// The result of a task that could not be carried out, or whose result the service cannot take.
fn failed_completion(held: &HeldClaim, reason: String) -> Completion {
    Completion {
        claim: held.claim.clone(),
        state: TaskState::Failed,
        reason,
        exit_code: None,
        outcome: None,
        node_seconds: 0.0,
        table: None,
    }
}

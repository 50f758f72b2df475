//! Delivers the messages of webhooks, each webhook's one after the other.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use rusqlite::{Row, params};
use serde_json::json;

use super::problem_subject;
use super::signing::SigningKey;
use crate::database::query_rows;
use crate::{Service, ServiceError};

/// The subject of the outbox's problems.
const OUTBOX: &str = "the outbox of webhooks";
/// The interval at which messages are looked for.
const TICK: Duration = Duration::from_millis(500);
/// The pause after a failure of the database.
const ERROR_PAUSE: Duration = Duration::from_secs(10);
/// The most deliveries at a time.
const MOST_AT_ONCE: usize = 8;
/// The pauses after the first failed attempt, the second one and so on, in seconds; after the last one the message is
/// given up.
const PAUSES: [i64; 7] = [5, 300, 1800, 7200, 18_000, 36_000, 50_400];
/// The time for which ended messages are kept, in milliseconds.
const KEPT: i64 = 30 * 86_400_000;
/// The longest problem that is kept, in characters.
const LONGEST_PROBLEM: usize = 500;

/// A message as it is sent: the body of a POST, and its headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingMessage {
    /// The address.
    pub url: String,
    /// `webhook-id`.
    pub id: String,
    /// `webhook-timestamp`, in seconds since 1970.
    pub timestamp: i64,
    /// `webhook-signature`.
    pub signature: String,
    /// The body, JSON.
    pub body: String,
}

/// A message that is due.
struct DueMessage {
    id: i64,
    webhook: u64,
    url: String,
    name: String,
    body: String,
    attempts: u32,
    salt: Vec<u8>,
    hash: Vec<u8>,
}

/// What became of an attempt.
struct Attempt {
    message: DueMessage,
    /// The status of the answer, or the reason why there is none.
    outcome: Result<u16, String>,
}

impl Service {
    /// Delivers messages until `stop` is set, which is noticed within half a second, whatever receivers do: an attempt
    /// that has not ended then is made again at the next start. `send` posts a message and returns the status of the
    /// answer, or the reason why there is none.
    pub fn deliver_messages<S>(&self, stop: &AtomicBool, send: S)
    where
        S: Fn(&OutgoingMessage) -> Result<u16, String> + Clone + Send + 'static,
    {
        let (report, reports) = mpsc::channel();
        // The webhooks to which a message is under way.
        let mut busy = BTreeSet::new();
        while !stop.load(Ordering::Relaxed) {
            let attempted = reports.recv_timeout(TICK).ok();
            let worked = self
                .finish_attempt(attempted, &mut busy)
                .and_then(|()| self.begin_attempts(&mut busy, &report, &send));
            match worked {
                Ok(()) => self.problems.note_problem(OUTBOX.to_owned(), None),
                Err(error) => {
                    self.problems.note_transient(OUTBOX.to_owned(), &error);
                    pause_unless_stopped(stop);
                }
            }
        }
    }

    /// Records what became of an attempt. If it cannot be recorded, the message is sent again.
    fn finish_attempt(
        &self,
        attempted: Option<Attempt>,
        busy: &mut BTreeSet<u64>,
    ) -> Result<(), ServiceError> {
        let Some(attempt) = attempted else {
            return Ok(());
        };
        busy.remove(&attempt.message.webhook);
        self.record_attempt(&attempt)
    }

    fn begin_attempts<S>(
        &self,
        busy: &mut BTreeSet<u64>,
        report: &Sender<Attempt>,
        send: &S,
    ) -> Result<(), ServiceError>
    where
        S: Fn(&OutgoingMessage) -> Result<u16, String> + Clone + Send + 'static,
    {
        let due = self.find_due_messages(busy)?;
        if due.is_empty() {
            return Ok(());
        }
        let key = SigningKey::read(&self.configuration.state)?;
        for message in due {
            let webhook = message.webhook;
            busy.insert(webhook);
            let outgoing = self.sign_message(&message, key.as_ref());
            let (report, send) = (report.clone(), send.clone());
            // The thread is not waited for: a receiver may take longer than the service may to stop.
            let worker = thread::Builder::new().name("webhook".to_owned());
            let started = worker.spawn(move || {
                let outcome = outgoing.and_then(|outgoing| {
                    let sent = catch_unwind(AssertUnwindSafe(|| send(&outgoing)));
                    sent.unwrap_or_else(|_| Err("a defect of colltune".to_owned()))
                });
                // Nobody listens once the service stops.
                let _ = report.send(Attempt { message, outcome });
            });
            if let Err(error) = started {
                busy.remove(&webhook);
                self.problems.note_problem(
                    OUTBOX.to_owned(),
                    Some(format!("no thread could be started: {error}")),
                );
            }
        }
        Ok(())
    }

    /// The oldest due message of each webhook to which none is under way.
    fn find_due_messages(&self, busy: &BTreeSet<u64>) -> Result<Vec<DueMessage>, ServiceError> {
        let free = MOST_AT_ONCE.saturating_sub(busy.len());
        let busy = json!(busy).to_string();
        let now = self.clock.now().as_millisecond();
        self.database.read(|connection| {
            let query = "SELECT message.id, webhook, url, name, body, attempts, salt, hash FROM message \
                         JOIN webhook ON webhook.id = message.webhook WHERE message.id IN \
                         (SELECT min(id) FROM message WHERE state = 'waiting' AND due_at <= ?1 \
                         AND webhook NOT IN (SELECT value FROM json_each(?2)) GROUP BY webhook) \
                         ORDER BY message.id LIMIT ?3";
            query_rows(connection, query, params![now, busy, free], due_message_from_row)
        })
    }

    fn sign_message(
        &self,
        message: &DueMessage,
        key: Option<&SigningKey>,
    ) -> Result<OutgoingMessage, String> {
        let secret = key.map(|key| key.derive_secret(&message.salt));
        // After a restore from a backup, the key is another one.
        let secret = secret.filter(|secret| secret.hash()[..] == message.hash[..]);
        let lost = "its secret is lost, as after a restore from a backup; remove the webhook, and make it again";
        let secret = secret.ok_or_else(|| lost.to_owned())?;
        let timestamp = self.clock.now().as_second();
        Ok(OutgoingMessage {
            url: message.url.clone(),
            id: message.name.clone(),
            timestamp,
            signature: secret.sign(&message.name, timestamp, &message.body),
            body: message.body.clone(),
        })
    }

    fn record_attempt(&self, attempt: &Attempt) -> Result<(), ServiceError> {
        let message = &attempt.message;
        let now = self.clock.now().as_millisecond();
        let problem = match &attempt.outcome {
            Ok(200..=299) => None,
            Ok(status @ 300..=399) => Some(format!(
                "the receiver redirects ({status}), which is not followed"
            )),
            Ok(status) => Some(format!("the receiver answered with status {status}")),
            Err(problem) => Some(files::shortened(problem, LONGEST_PROBLEM).into_owned()),
        };
        let pause = PAUSES.get(message.attempts as usize);
        let state = match (&problem, pause) {
            (None, _) => "delivered",
            (Some(_), Some(_)) => "waiting",
            (Some(_), None) => "failed",
        };
        self.database.write(|transaction| {
            transaction.execute(
                "UPDATE message SET state = ?2, attempts = attempts + 1, problem = ?3, due_at = ?4, \
                 ended_at = CASE ?2 WHEN 'waiting' THEN NULL ELSE ?5 END WHERE id = ?1",
                params![
                    message.id,
                    state,
                    problem,
                    now.saturating_add(pause.map_or(0, |seconds| seconds * 1000)),
                    now
                ],
            )?;
            let old = "DELETE FROM message WHERE ended_at < ?1";
            transaction.execute(old, [now - KEPT])?;
            Ok(())
        })?;
        // A first failure is not worth a warning: receivers are restarted, too.
        let told = problem.filter(|_| message.attempts > 0 || state == "failed");
        if told.is_some() || state == "delivered" {
            let told = told.map(|reason| {
                format!(
                    "messages to webhook {} do not arrive: {reason}",
                    message.webhook
                )
            });
            self.problems
                .note_problem(problem_subject(message.webhook), told);
        }
        Ok(())
    }
}

fn due_message_from_row(row: &Row<'_>) -> rusqlite::Result<DueMessage> {
    Ok(DueMessage {
        id: row.get(0)?,
        webhook: row.get(1)?,
        url: row.get(2)?,
        name: row.get(3)?,
        body: row.get(4)?,
        attempts: row.get(5)?,
        salt: row.get(6)?,
        hash: row.get(7)?,
    })
}

fn pause_unless_stopped(stop: &AtomicBool) {
    let mut waited = Duration::ZERO;
    while waited < ERROR_PAUSE && !stop.load(Ordering::Relaxed) {
        thread::sleep(TICK);
        waited += TICK;
    }
}

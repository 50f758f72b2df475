//! Delivers the messages of webhooks, each webhook's one after the other.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
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
/// The most of these to receivers whose last answers were failures, so that these leave some for others.
const MOST_DOUBTFUL: usize = 4;
/// The pauses after the first failed attempt, the second one and so on, in seconds; after the last one the message is
/// given up.
const PAUSES: [i64; 7] = [5, 300, 1800, 7200, 18_000, 36_000, LONGEST_PAUSE];
const LONGEST_PAUSE: i64 = 50_400;
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
    /// Whether a message to the webhook has failed and waits to be repeated.
    is_doubtful: bool,
}

/// What became of an attempt.
struct Attempt {
    message: DueMessage,
    /// The status of the answer, or the reason why there is none.
    outcome: Result<u16, String>,
}

/// The deliveries that have begun.
#[derive(Default)]
struct Deliveries {
    /// The webhooks to which one is under way or not recorded yet, and whether they are doubtful.
    busy: BTreeMap<u64, bool>,
    /// Attempts that have ended and are to be recorded.
    ended: VecDeque<Attempt>,
}

impl Deliveries {
    /// Takes what has ended; waits for it, but not long.
    fn collect_ended(&mut self, reports: &Receiver<Attempt>) {
        self.ended.extend(reports.recv_timeout(TICK));
        self.ended.extend(reports.try_iter());
    }

    /// Whether one more delivery may begin, to a doubtful receiver or another one.
    fn has_place(&self, is_doubtful: bool) -> bool {
        let doubtful = self.busy.values().filter(|&&of_busy| of_busy);
        self.busy.len() < MOST_AT_ONCE && (!is_doubtful || doubtful.count() < MOST_DOUBTFUL)
    }
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
        let mut deliveries = Deliveries::default();
        while !stop.load(Ordering::Relaxed) {
            deliveries.collect_ended(&reports);
            let worked = self
                .record_attempts(&mut deliveries)
                .and_then(|()| self.begin_attempts(&mut deliveries, &report, &send));
            match worked {
                Ok(()) => self.problems.note_problem(OUTBOX.to_owned(), None),
                Err(error) => {
                    self.problems.note_transient(OUTBOX.to_owned(), &error);
                    pause_unless_stopped(stop, self.runner.scale_time(ERROR_PAUSE));
                }
            }
        }
    }

    /// Records what became of attempts. What cannot be recorded is kept, and its webhook stays busy until then: else a
    /// full disk would make a receiver get the same message again and again.
    fn record_attempts(&self, deliveries: &mut Deliveries) -> Result<(), ServiceError> {
        while let Some(attempt) = deliveries.ended.front() {
            self.record_attempt(attempt)?;
            deliveries.busy.remove(&attempt.message.webhook);
            deliveries.ended.pop_front();
        }
        Ok(())
    }

    fn begin_attempts<S>(
        &self,
        deliveries: &mut Deliveries,
        report: &Sender<Attempt>,
        send: &S,
    ) -> Result<(), ServiceError>
    where
        S: Fn(&OutgoingMessage) -> Result<u16, String> + Clone + Send + 'static,
    {
        let due = self.find_due_messages(deliveries)?;
        if due.is_empty() {
            return Ok(());
        }
        let key = SigningKey::read(&self.configuration.state)?;
        for message in due {
            if !deliveries.has_place(message.is_doubtful) {
                continue;
            }
            let webhook = message.webhook;
            deliveries.busy.insert(webhook, message.is_doubtful);
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
                deliveries.busy.remove(&webhook);
                self.problems.note_problem(
                    OUTBOX.to_owned(),
                    Some(format!("no thread could be started: {error}")),
                );
            }
        }
        Ok(())
    }

    /// The oldest due message of each webhook to which none is under way: first those to receivers without a failure,
    /// then those to receivers whose failures are longer ago.
    fn find_due_messages(&self, deliveries: &Deliveries) -> Result<Vec<DueMessage>, ServiceError> {
        let busy: Vec<&u64> = deliveries.busy.keys().collect();
        let busy = json!(busy).to_string();
        let now = self.clock.now().as_millisecond();
        // No message waits longer than the longest pause: the clock was ahead when a later time was stored.
        let latest = now.saturating_add(LONGEST_PAUSE * 1000);
        self.database.read(|connection| {
            let query = "SELECT message.id, webhook, url, name, body, attempts, salt, hash, \
                         (SELECT max(due_at) FROM message AS other WHERE other.webhook = message.webhook \
                         AND other.state = 'waiting' AND other.attempts > 0) AS repeated_at \
                         FROM message JOIN webhook ON webhook.id = message.webhook WHERE message.id IN \
                         (SELECT min(id) FROM message WHERE state = 'waiting' AND (due_at <= ?1 OR due_at > ?2) \
                         AND webhook NOT IN (SELECT value FROM json_each(?3)) GROUP BY webhook) \
                         ORDER BY repeated_at NULLS FIRST, message.id";
            query_rows(connection, query, params![now, latest, busy], due_message_from_row)
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
        // A first failure is not worth a warning: receivers are restarted, too.
        let told = problem
            .as_ref()
            .filter(|_| message.attempts > 0 || state == "failed");
        let told = told.map(|why| {
            format!(
                "messages to webhook {} do not arrive: {why}",
                message.webhook
            )
        });
        self.database.write(|transaction| {
            let updated = transaction.execute(
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
            // A webhook that was removed meanwhile has no problem. Its removal waits for this transaction.
            if updated > 0 && (told.is_some() || state == "delivered") {
                self.problems
                    .note_problem(problem_subject(message.webhook), told);
            }
            Ok(())
        })
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
        is_doubtful: row.get::<_, Option<i64>>(8)?.is_some(),
    })
}

fn pause_unless_stopped(stop: &AtomicBool, pause: Duration) {
    let mut waited = Duration::ZERO;
    while waited < pause && !stop.load(Ordering::Relaxed) {
        thread::sleep(TICK);
        waited += TICK;
    }
}

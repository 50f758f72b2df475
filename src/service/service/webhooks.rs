//! Webhooks: addresses that the service tells of events, as Standard Webhooks describe it.
//!
//! A message is added in the transaction of its event, and is then delivered (`outbox`), so that none is lost when the
//! service ends at any moment; one that arrived when the service ended arrives again, under the same `webhook-id`. The
//! secrets are not in the database: each is made of a key in the state folder and of a salt (`signing`).

mod outbox;
mod signing;

use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde_json::{Value, json};

pub use self::outbox::OutgoingMessage;
use self::signing::SigningKey;
use crate::database::{json_column, now_milliseconds, query_rows, timestamp_column, to_timestamp};
use crate::{Actor, NewWebhook, Scope, Service, ServiceError, Webhook, WebhookEvent, audit};

/// The most webhooks.
const MOST_WEBHOOKS: u32 = 100;
/// The most messages of a webhook that wait.
const MOST_WAITING: u32 = 1000;
/// The longest address, in bytes.
const LONGEST_URL: usize = 2000;

impl Service {
    /// Makes a webhook; returns it with its secret, which is not shown again. Needs the scope `admin`.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`], [`ServiceError::Invalid`]; [`ServiceError::Conflict`] if there are 100 webhooks;
    /// [`ServiceError::Random`]; files and SQLite.
    pub fn make_webhook(
        &self,
        actor: &Actor,
        new: &NewWebhook,
    ) -> Result<(String, Webhook), ServiceError> {
        actor.require_scope(Scope::Admin, None)?;
        self.check_webhook(new)?;
        let salt = signing::random_salt()?;
        let (id, secret) = self.database.write(|transaction| {
            // Within the transaction, of which there is one at a time, so that two requests do not make a key each.
            let key = SigningKey::read_or_make(&self.configuration.state)?;
            let secret = key.derive_secret(&salt);
            let count = "SELECT count(*) FROM webhook";
            let count: u32 = transaction.query_row(count, [], |row| row.get(0))?;
            if count >= MOST_WEBHOOKS {
                let problem = format!("there are {count} webhooks; remove those that are not used");
                return Err(ServiceError::Conflict(problem));
            }
            transaction.execute(
                "INSERT INTO webhook (url, salt, hash, events, machines, created_at, created_by) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    new.url,
                    salt,
                    secret.hash(),
                    json!(new.events).to_string(),
                    json!(new.machines).to_string(),
                    now_milliseconds(),
                    actor.name
                ],
            )?;
            let id = transaction.last_insert_rowid().unsigned_abs();
            let host = host_of(&new.url);
            let details = json!({"url": host, "events": new.events, "machines": new.machines});
            let subject = format!("webhook {id}");
            audit::record_action(
                transaction,
                &actor.name,
                "webhook.create",
                &subject,
                &details,
            )?;
            Ok((id, secret))
        })?;
        Ok((secret.to_text(), self.read_webhook(id)?))
    }

    /// The webhooks, oldest first. Needs the scope `admin`.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`]; SQLite.
    pub fn list_webhooks(&self, actor: &Actor) -> Result<Vec<Webhook>, ServiceError> {
        actor.require_scope(Scope::Admin, None)?;
        self.database.read(|connection| {
            let query = format!("{SELECT} ORDER BY id");
            query_rows(connection, &query, [], webhook_from_row)
        })
    }

    /// The number of messages in each state: `waiting`, `delivered` and `failed`, the latter two within 30 days.
    ///
    /// # Errors
    /// SQLite.
    pub fn message_counts(&self) -> Result<Vec<(String, u64)>, ServiceError> {
        self.database.read(|connection| {
            let query = "SELECT state, count(*) FROM message GROUP BY state ORDER BY state";
            query_rows(connection, query, [], |row| Ok((row.get(0)?, row.get(1)?)))
        })
    }

    /// Removes a webhook with its messages. Needs the scope `admin`.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`], [`ServiceError::NotFound`]; SQLite.
    pub fn remove_webhook(&self, actor: &Actor, id: u64) -> Result<(), ServiceError> {
        actor.require_scope(Scope::Admin, None)?;
        let url = self.read_webhook(id)?.url;
        self.database.write(|transaction| {
            transaction.execute("DELETE FROM message WHERE webhook = ?1", [id])?;
            let removed = transaction.execute("DELETE FROM webhook WHERE id = ?1", [id])?;
            if removed == 0 {
                return Err(ServiceError::not_found("webhook", id));
            }
            let subject = format!("webhook {id}");
            let details = json!({ "url": host_of(&url) });
            audit::record_action(
                transaction,
                &actor.name,
                "webhook.remove",
                &subject,
                &details,
            )
        })?;
        self.problems.note_problem(problem_subject(id), None);
        Ok(())
    }

    /// Adds a message of the event `test` to a webhook. Needs the scope `admin`.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`], [`ServiceError::NotFound`], [`ServiceError::Random`]; SQLite.
    pub fn test_webhook(&self, actor: &Actor, id: u64) -> Result<Webhook, ServiceError> {
        actor.require_scope(Scope::Admin, None)?;
        self.read_webhook(id)?;
        self.database.write(|transaction| {
            let data = json!({ "actor": actor.name });
            add_message(transaction, id, WebhookEvent::Test, &data)
        })?;
        self.read_webhook(id)
    }

    fn read_webhook(&self, id: u64) -> Result<Webhook, ServiceError> {
        // No row has an id that SQLite cannot hold.
        let id_of_row = i64::try_from(id).unwrap_or(i64::MAX);
        let found = self.database.read(|connection| {
            let query = format!("{SELECT} WHERE id = ?1");
            let found = connection.query_row(&query, [id_of_row], webhook_from_row);
            Ok(found.optional()?)
        })?;
        found.ok_or_else(|| ServiceError::not_found("webhook", id))
    }

    fn check_webhook(&self, new: &NewWebhook) -> Result<(), ServiceError> {
        if let Err(problem) = check_url(&new.url, self.configuration.private_webhooks) {
            return Err(ServiceError::invalid("url", problem));
        }
        if new.events.contains(&WebhookEvent::Test) {
            return Err(ServiceError::invalid(
                "events",
                "have `test` in any case; leave it out",
            ));
        }
        for machine in &new.machines {
            if self.configuration.find_machine(machine).is_err() {
                let shown = files::quoted(machine, files::MOST_QUOTED);
                let problem = format!("there is no machine `{shown}`");
                return Err(ServiceError::invalid("machines", problem));
            }
        }
        Ok(())
    }
}

/// The scheme and host of an address. The rest may be a credential, and the audit is kept for ever.
fn host_of(url: &str) -> &str {
    let host_at = url.find("://").map_or(0, |at| at + "://".len());
    let rest = url.get(host_at..).unwrap_or_default();
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    url.get(..host_at + end).unwrap_or_default()
}

/// Checks the form of an address. Where it leads to is checked with each delivery.
fn check_url(url: &str, allows_private: bool) -> Result<(), String> {
    if url.len() > LONGEST_URL {
        return Err(format!("has more than {LONGEST_URL} bytes"));
    }
    let example = "write https://HOST[:PORT]/PATH";
    let rest = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
        (Some(rest), _) => rest,
        (None, Some(rest)) if allows_private => rest,
        (None, Some(_)) => {
            return Err(format!(
                "is not encrypted; {example}, or allow `http://` by `webhooks: {{private_addresses: true}}` in the \
                 configuration"
            ));
        }
        (None, None) => return Err(format!("is no address; {example}")),
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.is_empty() || host.contains('@') || !url.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!("is no address, or has a user's name; {example}"));
    }
    if url.contains('#') {
        return Err("has a fragment, which is not sent; leave it out".to_owned());
    }
    Ok(())
}

/// Adds messages of an event of a machine to the webhooks that have chosen it, in the transaction of the event.
pub(crate) fn tell_webhooks(
    transaction: &Transaction<'_>,
    event: WebhookEvent,
    machine: &str,
    data: &Value,
) -> Result<(), ServiceError> {
    let chosen = "SELECT id FROM webhook \
                  WHERE (events = '[]' OR EXISTS (SELECT 1 FROM json_each(events) WHERE value = ?1)) \
                  AND (machines = '[]' OR EXISTS (SELECT 1 FROM json_each(machines) WHERE value = ?2))";
    let name: &str = event.into();
    let chosen: Vec<u64> = query_rows(transaction, chosen, [name, machine], |row| row.get(0))?;
    let mut data = data.clone();
    data["machine"] = machine.into();
    for webhook in chosen {
        add_message(transaction, webhook, event, &data)?;
    }
    Ok(())
}

fn add_message(
    transaction: &Transaction<'_>,
    webhook: u64,
    event: WebhookEvent,
    data: &Value,
) -> Result<(), ServiceError> {
    let waiting = "SELECT count(*) FROM message WHERE webhook = ?1 AND state = 'waiting'";
    let waiting: u32 = transaction.query_row(waiting, [webhook], |row| row.get(0))?;
    let now = now_milliseconds();
    let body = json!({"type": event, "timestamp": Timestamp::now(), "data": data});
    let is_full = waiting >= MOST_WAITING;
    let state = if is_full { "failed" } else { "waiting" };
    let problem = is_full.then(|| format!("{waiting} messages wait"));
    transaction.execute(
        "INSERT INTO message (webhook, name, body, created_at, state, problem, ended_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            webhook,
            signing::random_message_name()?,
            body.to_string(),
            now,
            state,
            problem,
            is_full.then_some(now)
        ],
    )?;
    Ok(())
}

/// The subject of the problem that messages to a webhook do not arrive.
fn problem_subject(id: u64) -> String {
    format!("webhook {id}")
}

const SELECT: &str = "SELECT id, url, events, machines, created_at, created_by, \
    (SELECT count(*) FROM message WHERE webhook = webhook.id AND state = 'waiting'), \
    (SELECT count(*) FROM message WHERE webhook = webhook.id AND state = 'failed'), \
    (SELECT max(ended_at) FROM message WHERE webhook = webhook.id AND state = 'delivered'), \
    (SELECT problem FROM message WHERE webhook = webhook.id AND (attempts > 0 OR state = 'failed') ORDER BY id DESC LIMIT 1) \
    FROM webhook";

fn webhook_from_row(row: &Row<'_>) -> rusqlite::Result<Webhook> {
    Ok(Webhook {
        id: row.get(0)?,
        url: row.get(1)?,
        events: json_column(row, 2)?,
        machines: json_column(row, 3)?,
        created_at: to_timestamp(row.get(4)?)?,
        created_by: row.get(5)?,
        waiting: row.get(6)?,
        failed: row.get(7)?,
        delivered_at: timestamp_column(row, 8)?,
        problem: row.get(9)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_audit_has_schemes_and_hosts_only() {
        for (url, host) in [
            ("https://site.example", "https://site.example"),
            (
                "https://site.example:8443/a?b=c",
                "https://site.example:8443",
            ),
            ("http://site.example?key=word", "http://site.example"),
        ] {
            assert_eq!(host_of(url), host);
        }
    }

    #[test]
    fn addresses_are_encrypted_and_have_no_users() {
        for good in [
            "https://site.example",
            "https://site.example:8443/a?b=c",
            "https://[2606::1]/",
        ] {
            assert_eq!(check_url(good, false), Ok(()), "{good}");
        }
        assert_eq!(check_url("http://10.0.0.1:8080/", true), Ok(()));
        for wrong in [
            "http://site.example",
            "ftp://site.example",
            "site.example",
            "https://",
            "https:///path",
            "https://user:word@site.example",
            "https://site.example/a b",
            "https://site.example/\u{e4}",
            "https://site.example/#part",
            "",
        ] {
            assert!(check_url(wrong, false).is_err(), "{wrong}");
        }
        let long = format!("https://site.example/{}", "a".repeat(2000));
        assert!(check_url(&long, true).is_err());
    }
}

//! Making a release.

use export::deploy::PreparedDeployment;
use jiff::Timestamp;
use rusqlite::{Connection, Transaction};
use serde_json::json;
use table::Table;
use vocabulary::Library;

use super::history::{self, ReleaseStep};
use crate::database::lock_ignoring_poison;
use crate::versions::is_plain_library;
use crate::webhooks::tell_webhooks;
use crate::{
    Actor, ChannelKey, Digest, Gate, GateState, Notice, Release, ReleaseAction, ReleaseRequest,
    Scope, Service, ServiceError, WebhookEvent, audit, served,
};

/// The longest reason, in characters.
const MOST_REASON: usize = 1000;
/// The longest difference stored with a release, in bytes; for longer differences, only the counts are stored.
const MOST_DIFFERENCE: usize = 256 << 10;

/// What a request releases.
struct DecidedRelease {
    digest: Digest,
    table: Table,
    gates: Vec<Gate>,
}

impl Service {
    /// Releases a table to a channel, rolls back or withdraws: adds a row and publishes the folder. `expected` is the
    /// number of the channel's newest release that the caller expects; 0 for a channel without releases.
    ///
    /// A rollback ignores closed gates, because its table was in the channel before. The change is atomic; if the
    /// machine crashes in between, the next start brings the folder in line with the rows.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`] without the scope `publish`, or `admin` where gates are overridden;
    /// [`ServiceError::Gates`], [`ServiceError::Precondition`], [`ServiceError::NotFound`],
    /// [`ServiceError::Conflict`] if there is nothing to roll back to or to withdraw, or if the table is already
    /// current; [`ServiceError::Invalid`] if a reason or table is missing; [`ServiceError::Table`] and
    /// [`ServiceError::Damaged`] of a table that cannot be read; [`ServiceError::Deploy`] and [`ServiceError::File`]
    /// if it cannot be published.
    pub fn make_release(
        &self,
        actor: &Actor,
        key: &ChannelKey,
        request: &ReleaseRequest,
        expected: Option<u64>,
    ) -> Result<Release, ServiceError> {
        self.require_channel(actor, key)?;
        check_reason(request)?;
        if request.override_gates {
            actor.require_scope(Scope::Admin, Some(&key.machine))?;
        }
        // Gates take long, so they are evaluated before the lock is taken: a withdrawal does not wait for them.
        let seen = self.read_expected_steps(key, expected)?;
        let decided = self.decide_release(key, request, &seen)?;
        let lock = self.released.channel_lock(key);
        let _lock = lock_ignoring_poison(&lock);
        // Another release may have been made meanwhile, to which the gates compare.
        let mut steps = self.read_expected_steps(key, expected)?;
        let is_same = newest_sequence(&steps) == newest_sequence(&seen);
        let DecidedRelease {
            digest,
            table,
            gates,
        } = if is_same {
            decided
        } else {
            self.decide_release(key, request, &steps)?
        };
        let mut release = Release {
            sequence: 0,
            key: key.clone(),
            action: request.action,
            gates,
            digest,
            actor: actor.name.clone(),
            reason: request.reason.trim().to_owned(),
            at: Timestamp::now(),
        };
        let prepared = self.prepare_version(key, &release.digest, &table, &actor.name)?;
        let before = steps.last().map(|step| &step.digest);
        let details = self.audit_details(&release, before, &table);
        let served = self.served.now();
        release.sequence = self.commit_release(&release, served, prepared, expected, &details)?;
        steps.push(ReleaseStep {
            sequence: release.sequence,
            action: release.action,
            digest: release.digest.clone(),
            served,
        });
        let since = self.served.now_minus(self.configuration.longest_wall_time);
        self.released.set_channel(key, &steps, Some(table), since);
        self.prune_after_publishing(key);
        self.feed.send(Notice::Release {
            release: Box::new(release.clone()),
        });
        Ok(release)
    }

    /// Requires that an actor may release to a channel, and that there can be such a channel, before conditions of a
    /// request are evaluated.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`] without the scope `publish`; then [`ServiceError::NotFound`] of the machine, or of the
    /// channel if its library cannot be one.
    pub fn require_channel(&self, actor: &Actor, key: &ChannelKey) -> Result<(), ServiceError> {
        actor.require_scope(Scope::Publish, Some(&key.machine))?;
        self.configuration.find_machine(&key.machine)?;
        let unknown = || ServiceError::not_found("channel", key);
        parse_channel_library(&key.library)
            .map(drop)
            .ok_or_else(unknown)
    }

    /// Adds the row, and changes the link `current` just before the transaction is committed. If either fails, both
    /// stay as before.
    fn commit_release(
        &self,
        release: &Release,
        served: i64,
        prepared: PreparedDeployment,
        expected: Option<u64>,
        details: &serde_json::Value,
    ) -> Result<u64, ServiceError> {
        let key = &release.key;
        let mut prepared = Some(prepared);
        let written = self.database.write(|transaction| {
            check_expected(&history::query_steps(transaction, key)?, expected)?;
            let sequence = history::add_release(transaction, release, served)?;
            served::store_served_time(transaction, served)?;
            let action = format!("release.{}", release.action);
            audit::record_action(
                transaction,
                &release.actor,
                &action,
                &key.to_string(),
                details,
            )?;
            tell_of_release(transaction, release, sequence)?;
            if let Some(prepared) = prepared.take() {
                prepared.make_current()?;
            }
            Ok(sequence)
        });
        if written.is_err() && prepared.is_none() {
            self.restore_channel(key);
        }
        written
    }

    /// The releases of a channel, the newest last, if the newest is the expected one.
    fn read_expected_steps(
        &self,
        key: &ChannelKey,
        expected: Option<u64>,
    ) -> Result<Vec<ReleaseStep>, ServiceError> {
        let read = |connection: &Connection| history::query_steps(connection, key);
        let steps = self.database.read(read)?;
        check_expected(&steps, expected)?;
        Ok(steps)
    }

    /// Finds the table of a request, and evaluates its gates.
    fn decide_release(
        &self,
        key: &ChannelKey,
        request: &ReleaseRequest,
        steps: &[ReleaseStep],
    ) -> Result<DecidedRelease, ServiceError> {
        let (digest, table) = self.find_target_table(key, request, steps)?;
        Ok(DecidedRelease {
            gates: self.check_gates(key, request, &digest, &table)?,
            digest,
            table,
        })
    }

    /// The table to release.
    fn find_target_table(
        &self,
        key: &ChannelKey,
        request: &ReleaseRequest,
        steps: &[ReleaseStep],
    ) -> Result<(Digest, Table), ServiceError> {
        let unknown = || ServiceError::not_found("channel", key);
        let library = parse_channel_library(&key.library).ok_or_else(unknown)?;
        let invalid = |problem: String| Err(ServiceError::invalid("digest", problem));
        let current = steps.last().map(|step| &step.digest);
        let digest = match (request.action, &request.digest) {
            (ReleaseAction::Release, Some(digest)) => {
                self.require_version(&key.machine, digest)?;
                digest.clone()
            }
            (ReleaseAction::Release, None) => {
                return invalid("name the table that is to be released".to_owned());
            }
            (ReleaseAction::Rollback, digest) => {
                current.ok_or_else(unknown)?;
                rollback_digest(digest.as_ref(), steps, key)?
            }
            (ReleaseAction::Withdraw, Some(_)) => {
                return invalid("leave it out: `withdraw` releases an empty table".to_owned());
            }
            (ReleaseAction::Withdraw, None) => {
                let current = current.ok_or_else(unknown)?;
                let empty = export::deploy::empty_table(library);
                let digest = self.keep_blob(empty.to_yaml().as_bytes())?;
                let is_withdrawn = |step: &ReleaseStep| step.action == ReleaseAction::Withdraw;
                if *current == digest || steps.last().is_some_and(is_withdrawn) {
                    let problem = format!("the table of {key} is already withdrawn");
                    return Err(ServiceError::Conflict(problem));
                }
                return Ok((digest, empty));
            }
        };
        if current == Some(&digest) {
            let problem = format!("{key} already has the table {}", digest.short());
            return Err(ServiceError::Conflict(problem));
        }
        let table = self.read_table(&digest)?;
        let made_for = &table.provenance.library;
        if made_for.name != library.name {
            return invalid(format!(
                "the table is for {made_for} and cannot be used with {library}; release it to a channel of its library"
            ));
        }
        Ok((digest, table))
    }

    /// The gates of a release. Closed ones must be overridden, except in a rollback.
    fn check_gates(
        &self,
        key: &ChannelKey,
        request: &ReleaseRequest,
        digest: &Digest,
        table: &Table,
    ) -> Result<Vec<Gate>, ServiceError> {
        if request.action == ReleaseAction::Withdraw {
            return Ok(Vec::new());
        }
        let mut gates = self.gates_for(key, digest, table)?;
        if request.action == ReleaseAction::Rollback || gates.iter().all(Gate::is_open) {
            return Ok(gates);
        }
        if !request.override_gates {
            return Err(ServiceError::Gates { gates });
        }
        for gate in gates.iter_mut().filter(|gate| !gate.is_open()) {
            gate.state = GateState::Overridden;
        }
        Ok(gates)
    }

    /// The details of a release for the audit, including what it changes.
    fn audit_details(
        &self,
        release: &Release,
        before: Option<&Digest>,
        table: &Table,
    ) -> serde_json::Value {
        let mut details = json!({
            "digest": release.digest,
            "before": before,
            "reason": release.reason,
            "gates": release.gates,
        });
        if let Some(Ok(released)) = before.map(|before| self.read_table(before)) {
            let diff = released.diff(table);
            let [more, less] = diff.count_gains_and_losses();
            details["changes"] = json!({
                "ranges": diff.changes.len(),
                "promise_more": more,
                "promise_less": less,
                "turned_back": diff.count_turned_back(),
                "only_in_one": diff.only_in_one.len(),
            });
            let whole = serde_json::to_string(&diff).unwrap_or_default();
            if whole.len() <= MOST_DIFFERENCE {
                details["difference"] = json!(diff);
            }
        }
        details
    }
}

/// Tells webhooks of a release.
fn tell_of_release(
    transaction: &Transaction<'_>,
    release: &Release,
    sequence: u64,
) -> Result<(), ServiceError> {
    let event = match release.action {
        ReleaseAction::Release => WebhookEvent::Released,
        ReleaseAction::Rollback => WebhookEvent::RolledBack,
        ReleaseAction::Withdraw => WebhookEvent::Withdrawn,
    };
    let data = json!({
        "library": release.key.library, "channel": release.key.channel, "sequence": sequence,
        "digest": release.digest, "actor": release.actor, "reason": release.reason,
    });
    tell_webhooks(transaction, event, &release.key.machine, &data)
}

fn check_reason(request: &ReleaseRequest) -> Result<(), ServiceError> {
    let (reason, action) = (request.reason.trim(), request.action);
    let problem = if reason.chars().count() > MOST_REASON {
        format!("it has more than {MOST_REASON} characters; shorten it")
    } else if reason.is_empty() && request.override_gates {
        "say why the gates are overridden".to_owned()
    } else if reason.is_empty() && action != ReleaseAction::Release {
        format!("a {action} needs a reason")
    } else {
        return Ok(());
    };
    Err(ServiceError::invalid("reason", problem))
}

/// The number of the newest release; 0 if there is none.
fn newest_sequence(steps: &[ReleaseStep]) -> u64 {
    steps.last().map_or(0, |step| step.sequence)
}

fn check_expected(steps: &[ReleaseStep], expected: Option<u64>) -> Result<(), ServiceError> {
    let found = newest_sequence(steps);
    match expected {
        Some(expected) if expected != found => Err(ServiceError::Precondition { expected, found }),
        _ => Ok(()),
    }
}

/// The table to roll back to: one that the channel has had, by default the previous one.
fn rollback_digest(
    digest: Option<&Digest>,
    steps: &[ReleaseStep],
    key: &ChannelKey,
) -> Result<Digest, ServiceError> {
    let found = match digest {
        Some(digest) => {
            let mut earlier = steps.iter().map(|step| &step.digest);
            earlier.find(|earlier| *earlier == digest)
        }
        None => match &history::tables_in_effect(steps)[..] {
            [.., before, _] => Some(*before),
            _ => None,
        },
    };
    let problem = match digest {
        Some(digest) => format!(
            "{key} never had the table {}; a rollback returns to a table that it had, use `release` for others",
            digest.short()
        ),
        None => format!(
            "{key} had no table before this one; `withdraw` leaves every call to the library's default"
        ),
    };
    found.cloned().ok_or(ServiceError::Conflict(problem))
}

/// Parses the library of a channel's name; `None` if no channel can have this name.
pub(crate) fn parse_channel_library(text: &str) -> Option<Library> {
    let (name, version) = text.split_once('-').filter(|_| is_plain_library(text))?;
    Some(Library {
        name: name.to_owned(),
        version: version.to_owned(),
    })
}

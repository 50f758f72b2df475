//! Submits tasks.

use campaign::{Campaign, LauncherConfig};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde_json::Value;

use super::campaign::TaskCampaign;
use super::cancel::IS_HELD_BACK;
use super::fetch_task;
use super::overrides::apply_overrides;
use crate::database::{machine_id, now_milliseconds};
use crate::runner::largest_node_count;
use crate::versions::has_version;
use crate::{
    Actor, Notice, Scope, Service, ServiceError, ServiceMachine, Submitted, Task, TaskId, TaskKind,
    TaskRequest, audit,
};

/// The most tasks that may wait at once.
const MOST_WAITING: i64 = 10_000;
/// The longest idempotency key, in bytes.
const LONGEST_KEY: usize = 255;

/// A checked request, ready to be written.
pub(super) struct CheckedRequest {
    request: TaskRequest,
    /// The request as it is stored.
    json: String,
    pub(super) campaign: TaskCampaign,
}

/// Who submits a task.
pub(super) struct Origin<'a> {
    pub(super) actor: &'a str,
    /// The idempotency key.
    pub(super) key: Option<&'a str>,
    pub(super) schedule: Option<ScheduledOrigin<'a>>,
}

/// The schedule that submits a task.
pub(super) struct ScheduledOrigin<'a> {
    pub(super) name: &'a str,
    /// The time or event that made it due.
    pub(super) why: &'a str,
}

impl Service {
    /// Adds a task to the queue. Repeating a request with the same idempotency key and actor adds nothing. If an
    /// earlier task that waits or runs does the same work, the new one waits for it and takes its result.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`] without the scope `submit`; [`ServiceError::NotFound`] of the machine, campaign or
    /// table; [`ServiceError::Invalid`] and [`ServiceError::Campaign`]; [`ServiceError::Conflict`] if the key belongs
    /// to another request, or if 10000 tasks wait.
    pub fn submit_task(
        &self,
        actor: &Actor,
        request: &TaskRequest,
        idempotency_key: Option<&str>,
    ) -> Result<Submitted, ServiceError> {
        let machine = self.requested_machine(actor, request)?;
        check_idempotency_key(idempotency_key)?;
        let mut request = request.clone();
        request.machine = Some(machine.name.clone());
        let json = serde_json::to_string(&request).map_err(invalid_json)?;
        let earlier = self.database.read(|connection| {
            find_earlier_task(connection, &actor.name, idempotency_key, &json)
        })?;
        if let Some(task) = earlier {
            let is_new = false;
            return Ok(Submitted { task, is_new });
        }
        let prepared = self.read_request(machine, request, json)?;
        let submitted = self.database.write(|transaction| {
            let origin = Origin {
                actor: &actor.name,
                key: idempotency_key,
                schedule: None,
            };
            add_task(transaction, &prepared, &origin)
        })?;
        if submitted.is_new {
            self.feed.send(Notice::Task {
                task: Box::new(submitted.task.clone()),
            });
            self.runner.wake();
        }
        Ok(submitted)
    }

    /// Adds the task of a schedule to the queue; `record` adds to the transaction. `why` is recorded in the audit.
    ///
    /// # Errors
    /// As [`Service::submit_task`], but for scopes.
    pub(crate) fn submit_for_schedule(
        &self,
        schedule: &str,
        request: &TaskRequest,
        why: &str,
        record: impl FnOnce(&Transaction<'_>, TaskId) -> Result<(), ServiceError>,
    ) -> Result<Task, ServiceError> {
        let name = request.machine.as_deref().unwrap_or_default();
        let machine = self.configuration.find_machine(name)?;
        let json = serde_json::to_string(request).map_err(invalid_json)?;
        let prepared = self.read_request(machine, request.clone(), json)?;
        let origin = Origin {
            actor: &format!("schedule {schedule}"),
            key: None,
            schedule: Some(ScheduledOrigin {
                name: schedule,
                why,
            }),
        };
        self.database.write(|transaction| {
            let added = add_task(transaction, &prepared, &origin)?;
            record(transaction, added.task.id)?;
            Ok(added.task)
        })
    }

    /// Checks a request whose machine is known, as [`Service::submit_task`] does.
    ///
    /// # Errors
    /// As [`Service::submit_task`], but for scopes and keys.
    pub(crate) fn check_request(
        &self,
        machine: &ServiceMachine,
        request: &TaskRequest,
    ) -> Result<(), ServiceError> {
        self.read_request(machine, request.clone(), String::new())
            .map(drop)
    }

    /// The machine of a request. Other machines than the actor's are not named, nor whether they exist.
    pub(crate) fn requested_machine(
        &self,
        actor: &Actor,
        request: &TaskRequest,
    ) -> Result<&ServiceMachine, ServiceError> {
        if let Some(name) = &request.machine {
            actor.require_scope(Scope::Submit, Some(name))?;
            return self.configuration.find_machine(name);
        }
        let all = self.configuration.machines.iter();
        let own = all.filter(|machine| actor.has_scope(Scope::Submit, Some(&machine.name)));
        let own: Vec<&ServiceMachine> = own.collect();
        match own[..] {
            [] => Err(ServiceError::Forbidden {
                scope: Scope::Submit,
                machine: None,
            }),
            [only] if self.configuration.machines.len() == 1 => Ok(only),
            _ => {
                let names: Vec<&str> = own.iter().map(|machine| &*machine.name).collect();
                let problem = format!("is missing; name one of {}", names.join(", "));
                Err(ServiceError::invalid("machine", problem))
            }
        }
    }

    /// Reads the campaign of a request, and checks that its fields fit together.
    pub(super) fn read_request(
        &self,
        machine: &ServiceMachine,
        request: TaskRequest,
        json: String,
    ) -> Result<CheckedRequest, ServiceError> {
        let kind = request.kind;
        let refuse = |field, problem: String| Err(ServiceError::invalid(field, problem));
        if kind != TaskKind::Tune && !request.overrides.is_empty() {
            return refuse("overrides", format!("are for `tune`; `{kind}` has none"));
        }
        let is_of_table = matches!(kind, TaskKind::Validate | TaskKind::Check);
        if request.deployment.is_some() && !is_of_table {
            return refuse(
                "deployment",
                format!("is for `validate` and `check`, not `{kind}`"),
            );
        }
        let campaign = match (is_of_table, &request.campaign, &request.table) {
            (false, Some(path), None) => {
                let found = self.campaign_of_folder(machine, path)?;
                if request.overrides.is_empty() {
                    found
                } else {
                    let read = if machine.has_agent {
                        Campaign::parse_elsewhere
                    } else {
                        Campaign::parse
                    };
                    let (campaign, text) =
                        apply_overrides(&request.overrides, &found.campaign, path, read)?;
                    TaskCampaign {
                        campaign,
                        text,
                        ..found
                    }
                }
            }
            (false, None, _) => {
                return refuse("campaign", format!("is missing; `{kind}` needs it"));
            }
            (false, Some(_), Some(_)) => {
                let problem = format!("is for `validate` and `check`, not `{kind}`");
                return refuse("table", problem);
            }
            (true, named, Some(table)) => {
                self.require_version(&machine.name, table)?;
                self.table_campaign(machine, table, named.as_deref())?
            }
            (true, _, None) => return refuse("table", format!("is missing; `{kind}` needs it")),
        };
        Ok(CheckedRequest {
            request,
            json,
            campaign,
        })
    }
}

fn check_idempotency_key(key: Option<&str>) -> Result<(), ServiceError> {
    let is_good = |text: &str| {
        (1..=LONGEST_KEY).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
    };
    if key.is_none_or(is_good) {
        Ok(())
    } else {
        let problem = format!("has 1 to {LONGEST_KEY} visible ASCII characters");
        Err(ServiceError::invalid("Idempotency-Key", problem))
    }
}

pub(super) fn invalid_json(error: serde_json::Error) -> ServiceError {
    ServiceError::invalid("request", error.to_string())
}

/// The task that an actor submitted earlier with this key.
fn find_earlier_task(
    connection: &Connection,
    actor: &str,
    key: Option<&str>,
    json: &str,
) -> Result<Option<Task>, ServiceError> {
    let Some(key) = key else { return Ok(None) };
    let mut statement = connection
        .prepare_cached("SELECT id, request FROM task WHERE actor = ?1 AND idempotency_key = ?2")?;
    let found: Option<(TaskId, String)> = statement
        .query_row([actor, key], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match found {
        None => Ok(None),
        Some((id, request)) if request == json => fetch_task(connection, id).map(Some),
        Some((id, _)) => Err(ServiceError::Conflict(format!(
            "the idempotency key belongs to task {id}, which another request made; use a new key"
        ))),
    }
}

/// Adds a task, unless a concurrent request with the same key has added it.
pub(super) fn add_task(
    transaction: &Transaction<'_>,
    prepared: &CheckedRequest,
    origin: &Origin<'_>,
) -> Result<Submitted, ServiceError> {
    let CheckedRequest {
        request,
        json,
        campaign,
    } = prepared;
    if let Some(task) = find_earlier_task(transaction, origin.actor, origin.key, json)? {
        let is_new = false;
        return Ok(Submitted { task, is_new });
    }
    let waiting: i64 = transaction.query_row(
        "SELECT count(*) FROM task WHERE state = 'waiting'",
        [],
        |row| row.get(0),
    )?;
    if waiting >= MOST_WAITING {
        return Err(ServiceError::Conflict(format!(
            "{waiting} tasks wait; submit again when fewer do, or cancel some"
        )));
    }
    let machine = request.machine.as_deref().unwrap_or_default();
    if let Some(table) = &request.table
        && !has_version(transaction, machine, table)?
    {
        return Err(ServiceError::not_found("table", table));
    }
    let machine = machine_id(transaction, machine)?;
    let row = campaign_row(transaction, campaign)?;
    let (kind, table) = (request.kind.to_string(), request.table.as_ref());
    let table = table.map(crate::Digest::as_str);
    let follows = find_same_work(
        transaction,
        &SameWork {
            machine,
            kind: &kind,
            campaign: row,
            table,
            deployment: request.deployment.map(Into::into),
            is_scheduled: origin.schedule.is_some(),
        },
    )?;
    let reason = match follows {
        Some(first) => format!("waits for task {first}, which does the same"),
        None => crate::runner::ITS_TURN.to_owned(),
    };
    let campaign = &campaign.campaign;
    let is_simulated = matches!(campaign.launcher, LauncherConfig::Simulated(_));
    let expected = (request.kind == TaskKind::Tune && !is_simulated)
        .then(|| campaign.budget_seconds * largest_node_count(campaign));
    transaction.execute(
        "INSERT INTO task (kind, machine, campaign, digest, request, state, reason, follows, actor, \
         idempotency_key, submitted_at, expected_node_seconds, schedule) \
         VALUES (?1, ?2, ?3, ?4, ?5, 'waiting', ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        params![
            kind,
            machine,
            row,
            table,
            json,
            reason,
            follows,
            origin.actor,
            origin.key,
            now_milliseconds(),
            expected,
            origin.schedule.as_ref().map(|schedule| schedule.name)
        ],
    )?;
    let id = TaskId::try_from(transaction.last_insert_rowid()).unwrap_or_default();
    let mut details: Value = serde_json::from_str(json).map_err(invalid_json)?;
    if let Some(schedule) = &origin.schedule {
        details["why"] = schedule.why.into();
    }
    audit::record_action(
        transaction,
        origin.actor,
        "task.submit",
        &format!("task {id}"),
        &details,
    )?;
    Ok(Submitted {
        task: fetch_task(transaction, id)?,
        is_new: true,
    })
}

/// What makes the work of two tasks the same.
struct SameWork<'a> {
    machine: i64,
    kind: &'a str,
    /// The row of the campaign.
    campaign: i64,
    table: Option<&'a str>,
    deployment: Option<&'a str>,
    is_scheduled: bool,
}

/// The task that waits or runs and does this work. One that its schedule holds back must not keep others waiting with
/// it. The tuning of a schedule measures again, and into other files than that of a person, so neither takes the result
/// of the other one.
fn find_same_work(
    transaction: &Transaction<'_>,
    work: &SameWork<'_>,
) -> Result<Option<TaskId>, ServiceError> {
    let mut alike = transaction.prepare_cached(&format!(
        "SELECT id FROM task WHERE state IN ('waiting', 'running') AND machine = ?1 AND kind = ?2 \
         AND campaign IS ?3 AND digest IS ?4 AND json_extract(request, '$.deployment') IS ?5 \
         AND follows IS NULL AND cancel_asked = 0 \
         AND (kind <> 'tune' OR (schedule IS NOT NULL) = ?6) AND NOT {IS_HELD_BACK} \
         ORDER BY id LIMIT 1"
    ))?;
    let of_work = params![
        work.machine,
        work.kind,
        work.campaign,
        work.table,
        work.deployment,
        work.is_scheduled
    ];
    Ok(alike.query_row(of_work, |row| row.get(0)).optional()?)
}

/// The row of a campaign, added if no row has its digest. Texts of one digest may differ in comments; the row has the newest
/// text, since agents carry out a task only if they have its very text.
fn campaign_row(
    transaction: &Transaction<'_>,
    TaskCampaign {
        campaign,
        text,
        path,
    }: &TaskCampaign,
) -> Result<i64, ServiceError> {
    transaction.execute(
        "INSERT INTO campaign (digest, name, path, text, added_at) VALUES (?1, ?2, ?3, ?4, ?5) \
         ON CONFLICT (digest) DO UPDATE SET text = excluded.text",
        params![
            campaign.digest(),
            campaign.name,
            path,
            text,
            now_milliseconds()
        ],
    )?;
    let id = transaction.query_row(
        "SELECT id FROM campaign WHERE digest = ?1",
        [campaign.digest()],
        |row| row.get(0),
    )?;
    Ok(id)
}

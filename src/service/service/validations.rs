//! Validations of tables, and the gate that demands them.

use answers::ValidateFindings;
use jiff::{SignedDuration, Timestamp};
use rusqlite::params;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use table::{Deployment, Policy, Table};
use utoipa::ToSchema;
use vocabulary::units::format_counted;

use crate::database::{json_column, query_rows, to_timestamp};
use crate::{Digest, Service, ServiceError, TaskId};

/// The result of a validation of a table.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Validation {
    /// The task.
    pub task: TaskId,
    /// The time of its end.
    #[schema(value_type = String)]
    pub at: Timestamp,
    /// The deployment whose decisions were measured: `colltune` or `library`.
    #[schema(value_type = String)]
    pub deployment: Deployment,
    /// Points that are significantly slower than the default, or fail.
    pub slower: u32,
    /// Points that are significantly faster.
    pub faster: u32,
    /// Points that were not judged, because they were not measured, or in too few launches to tell.
    pub unjudged: u32,
    /// All points.
    pub points: u32,
    /// The output of `colltune validate --json`.
    pub details: Value,
}

impl Service {
    /// Validations of a table on a machine, newest first.
    ///
    /// # Errors
    /// SQLite.
    pub fn list_validations(
        &self,
        machine: &str,
        digest: &Digest,
    ) -> Result<Vec<Validation>, ServiceError> {
        self.database.read(|connection| {
            let query = "SELECT task, at, slower, faster, points, details FROM validation \
                         JOIN machine ON machine.id = validation.machine \
                         WHERE machine.name = ?1 AND digest = ?2 ORDER BY validation.id DESC";
            query_rows(
                connection,
                query,
                params![machine, digest.as_str()],
                |row| {
                    let details: Value = json_column(row, 5)?;
                    // One that cannot be read must not hide the others.
                    let found = ValidateFindings::deserialize(&details).unwrap_or_default();
                    Ok(Validation {
                        task: row.get(0)?,
                        at: to_timestamp(row.get(1)?)?,
                        deployment: found.measured.deployment,
                        slower: row.get(2)?,
                        faster: row.get(3)?,
                        unjudged: found.counts.count_unjudged().try_into().unwrap_or(u32::MAX),
                        points: row.get(4)?,
                        details,
                    })
                },
            )
        })
    }

    /// Whether the newest validation of each deployment that a release of the table activates found nothing slower,
    /// and the reason. It is at most [`crate::Configuration::validation_days`] old and judged at least one point.
    pub(crate) fn judge_newest_validations(
        &self,
        machine: &str,
        digest: &Digest,
        table: &Table,
    ) -> Result<GateFinding, ServiceError> {
        let validations = self.list_validations(machine, digest)?;
        let days = self.configuration.validation_days;
        let (mut open, mut closed) = (Vec::new(), Vec::new());
        for deployment in activated_deployments(table) {
            let mut newest = validations.iter();
            let newest = newest.find(|validation| validation.deployment == deployment);
            match judge_validation(newest, deployment, machine, days) {
                Ok(sentence) => open.push(sentence),
                Err(sentence) => closed.push(sentence),
            }
        }
        if changes_nonblocking_calls(table) {
            let sentence = "its rules for nonblocking calls are those that fresh launches confirmed, as validations measure blocking ones";
            open.push(sentence.to_owned());
        }
        let reason = if !closed.is_empty() {
            closed.join("; ")
        } else if !open.is_empty() {
            open.join("; ")
        } else {
            "a release of the table changes no decision, so none can be slower".to_owned()
        };
        Ok(GateFinding {
            is_open: closed.is_empty(),
            reason,
        })
    }
}

/// Whether a gate is open, and the reason.
pub(crate) struct GateFinding {
    pub(crate) is_open: bool,
    pub(crate) reason: String,
}

/// The deployments that a release of a table activates: `colltune` if programs that use it have rules of their own,
/// `library` if the library's file has rules. For a table of which no rule is deployed, those of all its rules.
pub fn activated_deployments(table: &Table) -> Vec<Deployment> {
    let (deployed, _) = table.deployed_by(Policy::default());
    let mut activated = deployments_with_choices(&deployed);
    if activated.is_empty() {
        activated = deployments_with_choices(table);
    }
    activated
}

/// Whether a release changes decisions about nonblocking calls.
fn changes_nonblocking_calls(table: &Table) -> bool {
    let (deployed, _) = table.deployed_by(Policy::default());
    deployed.nonblocking.is_some_and(|section| {
        let mut rules = section.entries().flat_map(|entry| &entry.rules);
        rules.any(|rule| rule.candidate.is_ours())
    })
}

fn deployments_with_choices(table: &Table) -> Vec<Deployment> {
    let reads_tables = export::format_read_by(&table.provenance.library).is_some();
    let mut deployments = Deployment::ALL.to_vec();
    deployments.retain(|deployment| match deployment {
        // Programs that use colltune leave the library's own algorithms to the library.
        Deployment::Colltune => {
            let mut rules = table.entries().flat_map(|entry| &entry.rules);
            rules.any(|rule| rule.candidate.is_ours())
        }
        Deployment::Library => reads_tables && export::has_choices(table),
    });
    deployments
}

/// The findings of the newest validation of a deployment; as an error with a remedy if they do not permit a release.
fn judge_validation(
    newest: Option<&Validation>,
    deployment: Deployment,
    machine: &str,
    days: u32,
) -> Result<String, String> {
    let submit = format!(
        "submit a task `validate` of this table for `{machine}` with the deployment `{deployment}`"
    );
    let Some(newest) = newest else {
        return Err(format!(
            "no validation has measured the deployment `{deployment}` of this table on `{machine}`; {submit}"
        ));
    };
    let Validation { task, slower, .. } = newest;
    let date = newest.at.strftime("%Y-%m-%d");
    let judged = newest.points.saturating_sub(newest.unjudged);
    let number = format_counted(judged, "point");
    let mut about = format!("deployment `{deployment}`");
    if newest.unjudged > 0 {
        about += &format!("; {} not judged", format_counted(newest.unjudged, "point"));
    }
    let age = Timestamp::now().duration_since(newest.at);
    if age > SignedDuration::from_hours(24 * i64::from(days)) {
        Err(format!(
            "the last validation of the deployment `{deployment}`, of {date}, is more than {days} days old; {submit}"
        ))
    } else if *slower > 0 {
        Err(format!(
            "task {task} found {slower} of {number} significantly slower than the library's default on {date} ({about}); tune again, which leaves these to the default"
        ))
    } else if judged == 0 {
        Err(format!(
            "task {task} judged no point ({about}), for reasons that its outcome names; {submit}"
        ))
    } else {
        Ok(format!(
            "task {task} found none of {number} significantly slower than the library's default on {date} ({about})"
        ))
    }
}

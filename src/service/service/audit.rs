//! The audit: what was done, and by which user.

use rusqlite::{Transaction, params};
use serde::Serialize;
use utoipa::ToSchema;

use crate::database::{from_json, now, rows, timestamp};
use crate::{Actor, Page, Scope, Service, ServiceError, Slice};

/// An entry of the audit.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct AuditRow {
    /// Its number.
    pub id: u64,
    /// When.
    #[schema(value_type = String)]
    pub at: jiff::Timestamp,
    /// The user who did it.
    pub actor: String,
    /// The action: `task.submit`, `task.cancel`, `release.release`, `token.create` and the like.
    pub action: String,
    /// The object that was changed.
    pub subject: String,
    /// Further facts about the action.
    pub details: serde_json::Value,
}

/// Adds a row, in the transaction that carries out the action.
pub(crate) fn record(
    transaction: &Transaction<'_>,
    actor: &str,
    action: &str,
    subject: &str,
    details: &serde_json::Value,
) -> Result<(), ServiceError> {
    let mut statement = transaction.prepare_cached(
        "INSERT INTO audit (at, actor, action, subject, details) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    statement.execute(params![now(), actor, action, subject, details.to_string()])?;
    Ok(())
}

impl Service {
    /// The audit, newest first. Needs the scope `admin`.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`]; SQLite.
    pub fn audit(&self, actor: &Actor, slice: Slice) -> Result<Page<AuditRow>, ServiceError> {
        actor.require(Scope::Admin, None)?;
        self.database.read(|connection| {
            let query = "SELECT id, at, actor, action, subject, details FROM audit WHERE id < ?1 \
                         ORDER BY id DESC LIMIT ?2";
            let bounds = [slice.end(), slice.rows_and_one()];
            let entries = rows(connection, query, bounds, |row| {
                Ok(AuditRow {
                    id: row.get(0)?,
                    at: timestamp(row.get(1)?)?,
                    actor: row.get(2)?,
                    action: row.get(3)?,
                    subject: row.get(4)?,
                    details: from_json(row, 5)?,
                })
            })?;
            Ok(slice.page(entries, |row| row.id))
        })
    }
}

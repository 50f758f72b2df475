//! The audit: what was done, and by which user.

use rusqlite::{Transaction, params};
use serde::Serialize;
use utoipa::ToSchema;

use crate::database::{json_column, now_milliseconds, query_rows, to_timestamp};
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
pub(crate) fn record_action(
    transaction: &Transaction<'_>,
    actor: &str,
    action: &str,
    subject: &str,
    details: &serde_json::Value,
) -> Result<(), ServiceError> {
    let mut statement = transaction.prepare_cached(
        "INSERT INTO audit (at, actor, action, subject, details) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    statement.execute(params![
        now_milliseconds(),
        actor,
        action,
        subject,
        details.to_string()
    ])?;
    Ok(())
}

impl Service {
    /// The audit, newest first. Needs the scope `admin`.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`]; SQLite.
    pub fn read_audit(&self, actor: &Actor, slice: Slice) -> Result<Page<AuditRow>, ServiceError> {
        actor.require_scope(Scope::Admin, None)?;
        self.database.read(|connection| {
            let query = "SELECT id, at, actor, action, subject, details FROM audit WHERE id < ?1 \
                         ORDER BY id DESC LIMIT ?2";
            let bounds = [slice.upper_bound(), slice.rows_to_query()];
            let entries = query_rows(connection, query, bounds, |row| {
                Ok(AuditRow {
                    id: row.get(0)?,
                    at: to_timestamp(row.get(1)?)?,
                    actor: row.get(2)?,
                    action: row.get(3)?,
                    subject: row.get(4)?,
                    details: json_column(row, 5)?,
                })
            })?;
            Ok(slice.to_page(entries, |row| row.id))
        })
    }
}

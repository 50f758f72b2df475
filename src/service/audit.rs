//! What was done, by whom.

use rusqlite::Transaction;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{Actor, Page, Service, ServiceError, Slice};

/// Something that was done.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct AuditRow {
    /// Its number.
    pub id: u64,
    /// When.
    #[schema(value_type = String)]
    pub at: jiff::Timestamp,
    /// By whom.
    pub actor: String,
    /// What: `task.submit`, `task.cancel`, `release.release`, `token.create` and the like.
    pub action: String,
    /// To what.
    pub subject: String,
    /// More of it.
    pub details: serde_json::Value,
}

/// Adds a row, in the transaction of what is done.
pub(crate) fn record(
    transaction: &Transaction<'_>,
    actor: &str,
    action: &str,
    subject: &str,
    details: &serde_json::Value,
) -> Result<(), ServiceError> {
    todo!("{transaction:?} {actor} {action} {subject} {details}")
}

impl Service {
    /// The audit, newest first. Needs the scope `admin`.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`]; SQLite.
    pub fn audit(&self, actor: &Actor, slice: Slice) -> Result<Page<AuditRow>, ServiceError> {
        todo!("{actor:?} {slice:?}")
    }
}

//! Versions of tables: their machines and campaigns.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use serde::Serialize;
use table::Table;
use utoipa::ToSchema;

use crate::database::{machine_id, now_milliseconds, query_rows, to_timestamp};
use crate::tasks::{optional_word_column, word_column};
use crate::{Actor, Digest, Page, Scope, Service, ServiceError, Slice, TaskId, audit, blobs};

/// The longest text of a table that is accepted: 16 MiB.
const MOST_BYTES: usize = 16 << 20;

/// A table of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Version {
    /// Its number; one sequence for the versions of all machines.
    pub id: u64,
    /// The machine.
    pub machine: String,
    /// `NAME-VERSION` of the MPI library that it is for.
    pub library: String,
    /// The name in the table.
    pub name: String,
    /// The digest of its text.
    pub digest: Digest,
    /// The path of the campaign that made it.
    pub campaign: Option<String>,
    /// The task that made it; absent if it was found in the folder.
    pub task: Option<TaskId>,
    /// The table that it replaced.
    pub parent: Option<Digest>,
    /// The time at which it was added.
    #[schema(value_type = String)]
    pub added_at: jiff::Timestamp,
}

impl Service {
    /// Adds a table: its text becomes a blob and a version of the machine. If the machine already has this digest,
    /// nothing changes. Needs the scope `publish`, or `agent` for a machine with an agent; tasks add tables without an
    /// actor.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`], [`ServiceError::NotFound`] of the machine, [`ServiceError::Table`],
    /// [`ServiceError::Invalid`] if the table is too long or its library is not a plain `NAME-VERSION`;
    /// [`ServiceError::Deploy`] if its name is too long for a folder; files and SQLite.
    pub fn add_table(
        &self,
        actor: &Actor,
        machine: &str,
        text: &str,
    ) -> Result<Version, ServiceError> {
        // An agent adds the tables that its tasks have made.
        let is_agent = self.has_agent(machine) && actor.has_scope(Scope::Agent, Some(machine));
        if !is_agent {
            actor.require_scope(Scope::Publish, Some(machine))?;
        }
        self.configuration.find_machine(machine)?;
        let new = NewTable::from_text(text)?;
        self.write_blob(text.as_bytes())?;
        self.database.write(|transaction| {
            let (version, is_new) = new.add_to_machine(transaction, machine, None, None)?;
            if is_new {
                let details = serde_json::json!({"digest": version.digest, "name": version.name});
                audit::record_action(transaction, &actor.name, "table.add", machine, &details)?;
            }
            Ok(version)
        })
    }

    /// Adds the table that a task has made; `campaign` is the row of its campaign. Adding it again is no error.
    pub(crate) fn add_task_table(
        &self,
        task: TaskId,
        machine: &str,
        campaign: Option<i64>,
        text: &str,
    ) -> Result<Digest, ServiceError> {
        let new = NewTable::from_text(text)?;
        self.write_blob(text.as_bytes())?;
        self.database.write(|transaction| {
            let (version, _) = new.add_to_machine(transaction, machine, campaign, Some(task))?;
            Ok(version.digest)
        })
    }

    /// Adds a table that was found in the folder, unless the machine has it.
    pub(crate) fn add_found_table(&self, machine: &str, text: &str) -> Result<(), ServiceError> {
        let new = NewTable::from_text(text)?;
        self.write_blob(text.as_bytes())?;
        self.database.write(|transaction| {
            let campaign = "SELECT id FROM campaign WHERE digest = ?1";
            let campaign = transaction
                .query_row(campaign, [&new.table.provenance.campaign], |row| row.get(0))
                .optional()?;
            new.add_to_machine(transaction, machine, campaign, None)
                .map(drop)
        })
    }

    /// The versions with this digest, of all machines.
    ///
    /// # Errors
    /// SQLite.
    pub fn versions_with_digest(&self, digest: &Digest) -> Result<Vec<Version>, ServiceError> {
        self.database.read(|connection| {
            let query = format!("{SELECT} WHERE version.digest = ?1 ORDER BY version.id");
            query_rows(connection, &query, [digest.as_str()], version_from_row)
        })
    }

    /// The machines that have had a table with this digest in a channel.
    ///
    /// # Errors
    /// SQLite.
    pub fn machines_released_to(&self, digest: &Digest) -> Result<Vec<String>, ServiceError> {
        self.database.read(|connection| {
            let query = "SELECT DISTINCT machine.name FROM release JOIN machine ON machine.id = release.machine \
                         WHERE digest = ?1";
            query_rows(connection, query, [digest.as_str()], |row| row.get(0))
        })
    }

    /// Lists versions, newest first: those of one machine or campaign (by its path), if these are given.
    ///
    /// # Errors
    /// SQLite.
    pub fn list_versions(
        &self,
        machine: Option<&str>,
        campaign: Option<&str>,
        slice: Slice,
    ) -> Result<Page<Version>, ServiceError> {
        self.list_readable_versions(None, machine, campaign, slice)
    }

    /// As [`Service::list_versions`], for a reader of some machines: only those of `readable`, if given.
    ///
    /// # Errors
    /// SQLite.
    pub fn list_readable_versions(
        &self,
        readable: Option<&[String]>,
        machine: Option<&str>,
        campaign: Option<&str>,
        slice: Slice,
    ) -> Result<Page<Version>, ServiceError> {
        let readable = readable.map(|names| serde_json::json!(names).to_string());
        self.database.read(|connection| {
            let query = format!(
                "{SELECT} WHERE (?1 IS NULL OR machine.name = ?1) AND (?2 IS NULL OR campaign.path = ?2) \
                 AND (?3 IS NULL OR machine.name IN (SELECT value FROM json_each(?3))) \
                 AND version.id < ?4 ORDER BY version.id DESC LIMIT ?5"
            );
            let (end, most) = (slice.upper_bound(), slice.rows_to_query());
            let bounds = params![machine, campaign, readable, end, most];
            let versions = query_rows(connection, &query, bounds, version_from_row)?;
            Ok(slice.to_page(versions, |version| version.id))
        })
    }

    /// Reads a table.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], [`ServiceError::Damaged`]; [`ServiceError::Table`] of a newer format.
    pub fn read_table(&self, digest: &Digest) -> Result<Table, ServiceError> {
        let bytes = self.read_blob(digest)?;
        let damaged = |_| ServiceError::Damaged {
            digest: digest.clone(),
        };
        let text = String::from_utf8(bytes).map_err(damaged)?;
        Ok(Table::parse(&text, Path::new(digest.as_str()))?)
    }
}

/// A table that is about to be added.
struct NewTable<'a> {
    text: &'a str,
    digest: Digest,
    library: String,
    table: Table,
}

impl<'a> NewTable<'a> {
    fn from_text(text: &'a str) -> Result<Self, ServiceError> {
        if text.len() > MOST_BYTES {
            let problem = format!("has {} bytes; the most are {MOST_BYTES}", text.len());
            return Err(ServiceError::invalid("table", problem));
        }
        let table = Table::parse(text, Path::new("table.yaml"))?;
        let library = table.provenance.library.to_string();
        if !is_plain_library(&library) {
            let problem = format!(
                "is `{}`; libraries of the service have names such as openmpi-4.1.4, of letters, digits and `._+-`",
                files::quoted(&library, 64)
            );
            return Err(ServiceError::invalid("provenance.library", problem));
        }
        // Its releases are folders with these names.
        export::deploy::check_names(&table)?;
        Ok(Self {
            text,
            digest: Digest::of_bytes(text.as_bytes()),
            library,
            table,
        })
    }

    /// Adds the table to a machine. Returns the version, and whether it is new. The task and its campaign are
    /// recorded also for an existing version without a task.
    fn add_to_machine(
        &self,
        transaction: &Transaction<'_>,
        machine: &str,
        campaign: Option<i64>,
        task: Option<TaskId>,
    ) -> Result<(Version, bool), ServiceError> {
        let id = machine_id(transaction, machine)?;
        blobs::add_row(transaction, &self.digest, self.text.len())?;
        let parent = self.find_parent(transaction, id, campaign)?;
        let added = transaction.execute(
            "INSERT OR IGNORE INTO version (machine, digest, library, name, campaign, task, parent, added_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                id,
                self.digest.as_str(),
                self.library,
                self.table.name,
                campaign,
                task,
                parent.as_ref().map(Digest::as_str),
                now_milliseconds()
            ],
        )?;
        if added == 0 && task.is_some() {
            transaction.execute(
                "UPDATE version SET task = ?3, campaign = coalesce(?4, campaign) \
                 WHERE machine = ?1 AND digest = ?2 AND task IS NULL",
                params![id, self.digest.as_str(), task, campaign],
            )?;
        }
        let select = format!("{SELECT} WHERE version.machine = ?1 AND version.digest = ?2");
        let found =
            transaction.query_row(&select, params![id, self.digest.as_str()], version_from_row)?;
        Ok((found, added > 0))
    }

    /// The newest version of the machine for the same library that the same campaign (by its path) made; if there is
    /// none, the newest of the same name.
    fn find_parent(
        &self,
        transaction: &Transaction<'_>,
        machine: i64,
        campaign: Option<i64>,
    ) -> Result<Option<Digest>, ServiceError> {
        let of_campaign = "SELECT version.digest FROM version JOIN campaign ON campaign.id = version.campaign \
                           WHERE version.machine = ?1 AND version.library = ?2 \
                           AND campaign.path = (SELECT path FROM campaign WHERE id = ?3) \
                           ORDER BY version.id DESC LIMIT 1";
        let found = transaction
            .query_row(
                of_campaign,
                params![machine, self.library, campaign],
                |row| word_column(row, 0),
            )
            .optional()?;
        if found.is_some() {
            return Ok(found);
        }
        let of_name = "SELECT digest FROM version WHERE machine = ?1 AND library = ?2 AND name = ?3 \
                       ORDER BY id DESC LIMIT 1";
        let of_this = params![machine, self.library, self.table.name];
        Ok(transaction
            .query_row(of_name, of_this, |row| word_column(row, 0))
            .optional()?)
    }
}

/// Whether a text is `NAME-VERSION` of a library and a safe folder name.
pub(crate) fn is_plain_library(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    let parts = text.split_once('-');
    let is_whole = parts.is_some_and(|(name, version)| !name.is_empty() && !version.is_empty());
    is_whole && text.len() <= 64 && !text.starts_with('.') && text.chars().all(is_plain)
}

/// Whether a machine has a table.
pub(crate) fn has_version(
    connection: &Connection,
    machine: &str,
    digest: &Digest,
) -> Result<bool, ServiceError> {
    let select = format!("{SELECT} WHERE machine.name = ?1 AND version.digest = ?2");
    let mut statement = connection.prepare_cached(&select)?;
    Ok(statement.exists(params![machine, digest.as_str()])?)
}

const SELECT: &str = "SELECT version.id, machine.name, version.library, version.name, version.digest, \
                      campaign.path, version.task, version.parent, version.added_at FROM version \
                      JOIN machine ON machine.id = version.machine \
                      LEFT JOIN campaign ON campaign.id = version.campaign";

fn version_from_row(row: &Row<'_>) -> rusqlite::Result<Version> {
    Ok(Version {
        id: row.get(0)?,
        machine: row.get(1)?,
        library: row.get(2)?,
        name: row.get(3)?,
        digest: word_column(row, 4)?,
        campaign: row.get(5)?,
        task: row.get(6)?,
        parent: optional_word_column(row, 7)?,
        added_at: to_timestamp(row.get(8)?)?,
    })
}

//! Versions of tables: what was made where, from what, and what validations said.

use serde::Serialize;
use table::Table;
use utoipa::ToSchema;

use crate::{Actor, Digest, Page, Service, ServiceError, Slice, TaskId};

/// A table of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Version {
    /// Its number; versions of all machines count together.
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
    /// The table that stood in its place before.
    pub parent: Option<Digest>,
    /// When it was taken in.
    #[schema(value_type = String)]
    pub added_at: jiff::Timestamp,
}

/// What a validation of a table said.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Validation {
    /// The task.
    pub task: TaskId,
    /// When it ended.
    #[schema(value_type = String)]
    pub at: jiff::Timestamp,
    /// Points that are significantly slower than the default.
    pub slower: u32,
    /// Points that are significantly faster.
    pub faster: u32,
    /// All points.
    pub points: u32,
    /// What `colltune validate --json` printed.
    pub details: serde_json::Value,
}

impl Service {
    /// Takes a table in: its text becomes a blob and a version of the machine. A digest that the machine has already
    /// stays as it is. Needs the scope `publish`; tasks do so without an actor.
    ///
    /// # Errors
    /// [`ServiceError::Table`]; files and SQLite.
    pub fn take_in(
        &self,
        actor: &Actor,
        machine: &str,
        text: &str,
    ) -> Result<Version, ServiceError> {
        todo!("{actor:?} {machine} {text}")
    }

    /// Takes in the table that a task made; its digest. Twice is no error.
    pub(crate) fn take_in_of_task(
        &self,
        task: TaskId,
        machine: &str,
        campaign: Option<i64>,
        text: &str,
    ) -> Result<Digest, ServiceError> {
        todo!("{task} {machine} {campaign:?} {text}")
    }

    /// The versions with this digest, of all machines.
    ///
    /// # Errors
    /// SQLite.
    pub fn versions_of(&self, digest: &Digest) -> Result<Vec<Version>, ServiceError> {
        todo!("{digest}")
    }

    /// Versions, newest first; of one machine or campaign (by path) if these are given.
    ///
    /// # Errors
    /// SQLite.
    pub fn versions(
        &self,
        machine: Option<&str>,
        campaign: Option<&str>,
        slice: Slice,
    ) -> Result<Page<Version>, ServiceError> {
        todo!("{machine:?} {campaign:?} {slice:?}")
    }

    /// Reads a table.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], [`ServiceError::Damaged`].
    pub fn table(&self, digest: &Digest) -> Result<Table, ServiceError> {
        todo!("{digest}")
    }

    /// Validations of a table on a machine, newest first.
    ///
    /// # Errors
    /// SQLite.
    pub fn validations(
        &self,
        machine: &str,
        digest: &Digest,
    ) -> Result<Vec<Validation>, ServiceError> {
        todo!("{machine} {digest}")
    }
}

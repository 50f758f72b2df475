//! The service's errors. The HTTP interface maps each variant to a status.

use std::io;
use std::path::{Path, PathBuf};

use explained::Explained;
use export::deploy::DeployError;
use rusqlite::ErrorCode;
use thiserror::Error;
use vocabulary::ErrorKind;

use crate::{Digest, Gate, Scope, TaskId};

/// The remedy for a full disk.
const FREE_SPACE: &str = "free some space on the file system of the service's `state`; stored data is intact, and reading still works";

/// An error of the service.
#[derive(Debug, Error, Explained)]
#[help(fn own_help)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum ServiceError {
    /// The actor lacks a scope (403).
    #[error("this needs the scope `{scope}`{}", machine.as_ref().map(|m| format!(" for the machine `{m}`")).unwrap_or_default())]
    #[kind(Input)]
    #[help("use a token with this scope; an administrator makes tokens")]
    Forbidden {
        scope: Scope,
        /// The machine; `None` if the scope is needed for all machines.
        machine: Option<String>,
    },
    /// Nothing has this name (404).
    #[error("there is no {kind} `{name}`")]
    #[kind(Input)]
    NotFound {
        /// `task`, `machine`, `table`, `campaign`, `channel`, `schedule`, `token`, `webhook`.
        kind: &'static str,
        name: String,
    },
    /// The agent of a machine has told of no such campaign (404).
    #[error("the agent of {machine} has told of no campaign `{path}`")]
    #[kind(Input)]
    #[help(
        "see that `colltune agent --machine {machine}` runs, and that the campaign is in its folder and matches its --campaigns"
    )]
    CampaignNotTold { machine: String, path: String },
    /// The current state does not permit the request (409).
    #[error("{0}")]
    #[kind(No)]
    Conflict(String),
    /// Gates are closed and not overridden (409).
    #[error("the gates of this release are not open: {}", gates.iter().filter(|gate| !gate.is_open()).map(Gate::to_string).collect::<Vec<_>>().join("; "))]
    #[kind(No)]
    #[help(
        "meet the conditions of the gates, or let an administrator override them with `override_gates` and a \
         `reason`"
    )]
    Gates { gates: Vec<Gate> },
    /// The channel has changed since the caller read it (412).
    #[error("the channel is at release {found} and not at {expected}")]
    #[kind(No)]
    #[help("read the channel again, and repeat the request if it is still wanted")]
    Precondition {
        /// The sequence that the caller expected; 0 for a channel without releases.
        expected: u64,
        found: u64,
    },
    /// A schedule is not in the state that the caller expects (412).
    #[error("{}", match found { Some(revision) => format!("the schedule `{name}` is at revision {revision} and not as expected"), None => format!("there is no schedule `{name}` that could be replaced") })]
    #[kind(No)]
    #[help("read the schedule again, and repeat the request if it is still wanted")]
    Outdated {
        name: String,
        /// Its revision; `None` if there is none.
        found: Option<u64>,
    },
    /// The request is invalid (422).
    #[error("{field}: {problem}")]
    #[kind(Input)]
    Invalid {
        field: &'static str,
        /// The problem, and a remedy.
        problem: String,
    },
    /// A campaign is refused (422).
    #[error(transparent)]
    #[kind(Input)]
    #[help(transparent)]
    Campaign(#[from] campaign::CampaignError),
    /// A table is refused (422).
    #[error(transparent)]
    #[kind(Input)]
    Table(#[from] table::TableError),
    /// `service.yaml` is refused.
    #[error("{0}")]
    #[kind(Input)]
    Configuration(String),
    /// Another service or agent uses the folder.
    #[error("another service or agent uses {}", folder.display())]
    #[kind(Environment)]
    #[help(
        "end that one, or give this one a folder of its own, with `state` of the configuration or `--state` of the agent"
    )]
    Locked { folder: PathBuf },
    /// Another account could redirect what the service writes.
    #[error(transparent)]
    #[kind(Input)]
    #[help(transparent)]
    Untrusted(#[from] files::UntrustedFolder),
    /// The state folder is on a network file system, where SQLite is unsafe.
    #[error("{} is on a network file system ({kind}); give the service a folder on a local disk with `state`", folder.display())]
    #[kind(Environment)]
    NetworkFileSystem { folder: PathBuf, kind: String },
    /// A newer colltune wrote `service.db`.
    #[error("{} has version {found}, and this colltune knows versions up to {known}; use the newer colltune", path.display())]
    #[kind(Input)]
    Newer {
        path: PathBuf,
        found: u32,
        known: u32,
    },
    /// `service.db` is not a database, belongs to another program, or is damaged.
    #[error("{}: {problem}", path.display())]
    #[kind(Input)]
    #[help("move it away, or restore a backup of it")]
    BadDatabase { path: PathBuf, problem: String },
    /// `service.db` is missing or empty in a folder that a service has used.
    #[error("{} {problem}, but the folder has {} of an earlier service", path.display(), found.join(", "))]
    #[kind(Input)]
    #[help(
        "nothing was changed: move the folder away and restore a backup in its place (`colltune restore`), or begin \
         a new service in another folder"
    )]
    Emptied {
        path: PathBuf,
        /// `is missing` or `is empty`.
        problem: &'static str,
        /// The names of what else is there.
        found: Vec<&'static str>,
    },
    /// A blob's content does not match its digest.
    #[error("the table {digest} is damaged on disk; restore it from a backup")]
    #[kind(Input)]
    Damaged { digest: Digest },
    /// A task's folder or log is missing.
    #[error("task {0} has no log")]
    #[kind(Input)]
    #[help("it has not begun, or its folder was removed")]
    NoLog(TaskId),
    /// A file could not be read or written (507 if the disk is full).
    #[error("cannot {action} {}: {source}", path.display())]
    #[kind(Input)]
    #[help(
        if source.kind() == io::ErrorKind::PermissionDenied,
        "give the service's account permission"
    )]
    #[help(if source.kind() == io::ErrorKind::AlreadyExists, "name another one, or move it away")]
    File {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// An error of SQLite.
    #[error("the database of the service: {0}")]
    #[kind(Environment)]
    #[help(
        if matches!(_0.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)),
        "another program holds the database; end it, or try again"
    )]
    #[help(
        if matches!(_0.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)),
        "restore a backup of it"
    )]
    #[help(
        if matches!(_0.sqlite_error_code(), Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen)),
        "let the service's account write the folder `state` and all that is in it"
    )]
    Database(#[from] rusqlite::Error),
    /// A table could not be published to its channel's folder.
    #[error(transparent)]
    #[kind(transparent)]
    #[help(transparent)]
    Deploy(#[from] DeployError),
    /// The points of trends cannot be aggregated: a bug.
    #[error(transparent)]
    #[kind(Internal)]
    Aggregate(#[from] frame::AggregateError),
    /// The operating system provided no random numbers.
    #[error("the operating system provided no random numbers: {0}")]
    #[kind(Environment)]
    Random(getrandom::Error),
}

impl ServiceError {
    /// There is no object of this kind with this name.
    pub(crate) fn not_found(kind: &'static str, name: impl ToString) -> Self {
        let name = name.to_string();
        Self::NotFound { kind, name }
    }

    /// A field of a request is invalid.
    pub(crate) fn invalid(field: &'static str, problem: impl Into<String>) -> Self {
        let problem = problem.into();
        Self::Invalid { field, problem }
    }

    /// Makes an I/O error the error of a file.
    pub(crate) fn on_file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File {
            action,
            path,
            source,
        }
    }

    /// The remedy, as a sentence without a full stop, if the message does not already contain it.
    pub fn help(&self) -> Option<String> {
        if self.is_disk_full() {
            Some(FREE_SPACE.to_owned())
        } else {
            self.own_help()
        }
    }

    /// Whether another program holds the database (503).
    pub fn is_busy(&self) -> bool {
        let Self::Database(error) = self else {
            return false;
        };
        error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
    }

    /// Whether a write failed because the disk is full (507).
    pub fn is_disk_full(&self) -> bool {
        let is_full =
            |error: &rusqlite::Error| error.sqlite_error_code() == Some(ErrorCode::DiskFull);
        files::is_disk_full(self) || matches!(self, Self::Database(error) if is_full(error))
    }
}

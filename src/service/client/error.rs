//! Errors, with their kinds and remedies.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use explained::Explained;
use table::TableError;
use thiserror::Error;
use vocabulary::ErrorKind;

/// A service's error response (RFC 9457).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceProblem {
    /// The status: 400 to 599.
    pub status: u16,
    /// The description, a sentence.
    pub detail: String,
    /// The closed gates of a refused release, each `name: reason and remedy`; otherwise empty.
    pub closed_gates: Vec<String>,
    /// Seconds after which the client may try again, if the service says so.
    pub retry_after: Option<u64>,
}

impl ServiceProblem {
    /// The kind of error that the status means.
    pub fn kind(&self) -> ErrorKind {
        match self.status {
            409 | 412 => ErrorKind::No,
            408 | 429 | 500.. => ErrorKind::Environment,
            _ => ErrorKind::Input,
        }
    }
}

impl fmt::Display for ServiceProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.closed_gates[..] {
            [] => write!(f, "{} ({})", self.detail, self.status)?,
            closed => {
                write!(f, "closed gates refuse the release ({})", self.status)?;
                closed.iter().try_for_each(|gate| write!(f, "\n  {gate}"))?;
            }
        }
        match self.retry_after {
            Some(seconds) => write!(f, "; try again in {seconds} s"),
            None => Ok(()),
        }
    }
}

/// A failed request to a service.
#[derive(Debug, Error, Explained)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum RemoteError {
    /// A text is not the URL of a service or channel.
    #[error("`{url}` is not the URL of a {wanted}: {problem}")]
    #[kind(Input)]
    Url {
        url: String,
        /// `service` or `channel`.
        wanted: &'static str,
        /// The problem, and the correct form.
        problem: String,
    },
    /// The token would be sent without encryption, and others could read it.
    #[error("refusing to send the token to {0} over an unencrypted connection; use https")]
    #[kind(Input)]
    Unencrypted(String),
    /// The text cannot be a token.
    #[error("{place} has no token: a token has 1 to 256 visible characters, as in `colltune_...`")]
    #[kind(Input)]
    Token { place: String },
    /// A file with a token or certificates cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    #[kind(Input)]
    File { path: PathBuf, source: io::Error },
    /// A file has no certificates.
    #[error("{} has no certificate in PEM format", path.display())]
    #[kind(Input)]
    Certificates { path: PathBuf },
    /// There is no connection, or no answer.
    #[error("the service at {url} is unavailable: {problem}")]
    #[kind(Environment)]
    Unreachable { url: String, problem: String },
    /// The answer is not that of a colltune service.
    #[error("{url} did not answer like a colltune service: {problem}")]
    #[kind(Environment)]
    Unexpected { url: String, problem: String },
    /// The service refused the request.
    #[error("{url}: {problem}")]
    #[kind(transparent(problem))]
    #[help(
        if !problem.closed_gates.is_empty(),
        "meet the condition of each gate, or override the gates with `--override-gates --reason WHY`, which needs the \
         scope admin"
    )]
    Refused {
        url: String,
        problem: ServiceProblem,
    },
}

/// A failed pull. The folder keeps its last good table.
#[derive(Debug, Error, Explained)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum PullError {
    /// A request failed.
    #[error(transparent)]
    #[kind(transparent)]
    Remote(#[from] RemoteError),
    /// The data do not match their digest.
    #[error("the data of {url} are damaged: their digest is {found}")]
    #[kind(Environment)]
    Damaged { url: String, found: String },
    /// The data are not a valid table.
    #[error("the table of {url} is refused: {source}")]
    #[kind(Environment)]
    Table {
        url: String,
        source: Box<TableError>,
    },
    /// Another process uses the folder for longer than the limit.
    #[error("another colltune process has been using {} for {:.1} s", folder.display(), limit.as_secs_f32())]
    #[kind(Environment)]
    Busy { folder: PathBuf, limit: Duration },
    /// The time limit is over.
    #[error("the pull did not end within {:.1} s", limit.as_secs_f32())]
    #[kind(Environment)]
    Late { limit: Duration },
    /// Another account could redirect what is written.
    #[error(transparent)]
    #[kind(Input)]
    #[help(transparent)]
    Untrusted(#[from] files::UntrustedFolder),
    /// The system has no thread for the pull.
    #[error("cannot start a thread: {0}")]
    #[kind(Environment)]
    Thread(io::Error),
    /// `current` exists and is not a link to a pulled table.
    #[error("{} is not a symbolic link to a pulled table; name another folder", path.display())]
    #[kind(Input)]
    NotOurs { path: PathBuf },
    /// A file could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    #[kind(if files::is_disk_full(source), Environment)]
    #[kind(Input)]
    File {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl PullError {
    pub(crate) fn on_file(
        action: &'static str,
        path: &std::path::Path,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File {
            action,
            path,
            source,
        }
    }
}

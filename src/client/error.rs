//! What can go wrong, and what that means to the one who asked.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use table::TableError;
use thiserror::Error;

/// What an error means, which decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOutcome {
    /// The service was reached, and its answer is "no": a gate is closed, a channel has moved on.
    No,
    /// What was asked for is wrong: a URL, a token, a name, a value.
    Wrong,
    /// There was no answer, or none that a service gives.
    Away,
}

/// What a service says of a request that it does not carry out (RFC 9457).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceProblem {
    /// The status: 400 to 599.
    pub status: u16,
    /// Why, as a sentence.
    pub detail: String,
    /// The gates that refuse a release, each `name: reason and remedy`; mostly empty.
    pub closed_gates: Vec<String>,
    /// Seconds after which to ask again, if the service says so.
    pub retry_after: Option<u64>,
}

impl ServiceProblem {
    /// What the status means.
    pub fn outcome(&self) -> RequestOutcome {
        match self.status {
            409 | 412 => RequestOutcome::No,
            408 | 429 | 500.. => RequestOutcome::Away,
            _ => RequestOutcome::Wrong,
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
            Some(seconds) => write!(f, "; it can be asked again in {seconds} s"),
            None => Ok(()),
        }
    }
}

/// A service that could not be asked, or did not do what it was asked for.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum RemoteError {
    /// Not the address of a service or channel.
    #[error("`{url}` is not the URL of a {wanted}: {problem}")]
    Url {
        url: String,
        /// `service` or `channel`.
        wanted: &'static str,
        /// What is wrong with it, and what is right.
        problem: String,
    },
    /// A token would be read by everyone on the way.
    #[error("the token is not sent to {0}, as the connection is not encrypted: use https")]
    Unencrypted(String),
    /// A token that cannot be one.
    #[error("{place} has no token: a token has 1 to 256 visible characters, as in `colltune_...`")]
    Token { place: String },
    /// A file with a token or certificates that cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// A file without certificates.
    #[error("{} has no certificate in PEM format", path.display())]
    Certificates { path: PathBuf },
    /// There is no connection or no answer.
    #[error("the service at {url} is away: {problem}")]
    Away { url: String, problem: String },
    /// There is an answer that no service gives.
    #[error("{url} does not answer as a service of colltune does: {problem}")]
    Strange { url: String, problem: String },
    /// The service says what is wrong.
    #[error("{url}: {problem}")]
    Refused {
        url: String,
        problem: ServiceProblem,
    },
}

impl RemoteError {
    /// What the user can do about it, where the message does not say so itself.
    pub fn help(&self) -> Option<String> {
        let Self::Refused { problem, .. } = self else {
            return None;
        };
        (!problem.closed_gates.is_empty()).then(|| {
            "do what each gate asks for; or release all the same with `--override-gates --reason WHY`, which needs the \
             scope admin"
                .to_owned()
        })
    }

    /// What it means.
    pub fn outcome(&self) -> RequestOutcome {
        match self {
            Self::Away { .. } | Self::Strange { .. } => RequestOutcome::Away,
            Self::Refused { problem, .. } => problem.outcome(),
            Self::Url { .. }
            | Self::Unencrypted(_)
            | Self::Token { .. }
            | Self::File { .. }
            | Self::Certificates { .. } => RequestOutcome::Wrong,
        }
    }
}

/// A table that was not brought here. The folder's last good table is in its place.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum PullError {
    /// The service.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// What came under a digest has another one.
    #[error("{url} has the digest {found}: it is damaged")]
    Damaged { url: String, found: String },
    /// What came is not a table.
    #[error("the table of {url} is refused: {source}")]
    Table {
        url: String,
        source: Box<TableError>,
    },
    /// The folder is used by another process all the time.
    #[error("another colltune pulls to {} since {:.1} s", folder.display(), limit.as_secs_f32())]
    Busy { folder: PathBuf, limit: Duration },
    /// Something else stands in the place of the link.
    #[error("{} is not a symbolic link to a pulled table; name another folder", path.display())]
    NotOurs { path: PathBuf },
    /// A file could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl PullError {
    /// What it means.
    pub fn outcome(&self) -> RequestOutcome {
        match self {
            Self::Remote(error) => error.outcome(),
            Self::Damaged { .. } | Self::Table { .. } | Self::Busy { .. } => RequestOutcome::Away,
            Self::NotOurs { .. } | Self::File { .. } => RequestOutcome::Wrong,
        }
    }

    pub(crate) fn file(
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

//! The fields of a service's answers that this crate reads. Other fields are passed on unchanged.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ChannelAddress;

/// The current table of a channel, and the tables that running jobs may still use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The channel.
    #[serde(flatten)]
    pub(crate) address: ChannelAddress,
    /// The number of the release.
    pub sequence: u64,
    /// The digest of the current table: 64 hexadecimal digits.
    pub digest: String,
    /// The digests of the tables to keep.
    pub keep: Vec<String>,
}

/// The most tables that `keep` may name.
const MOST_KEPT: usize = 10_000;

impl Manifest {
    /// Checks the manifest of a channel; returns what is wrong, if anything.
    pub(crate) fn find_problem(&self, channel: &ChannelAddress) -> Option<String> {
        if self.address != *channel {
            return Some("the manifest is that of another channel".to_owned());
        }
        if self.keep.len() > MOST_KEPT {
            return Some(format!("the manifest keeps more than {MOST_KEPT} tables"));
        }
        let all = std::iter::once(&self.digest).chain(&self.keep);
        let wrong = all.into_iter().find(|digest| !is_digest(digest))?;
        let wrong = files::quoted(wrong, 80);
        Some(format!("`{wrong}` in the manifest is not a digest"))
    }
}

/// Whether a text is a SHA-256 digest: 64 lower-case hexadecimal digits, so it is safe as a file name.
pub(crate) fn is_digest(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == 64 && text.bytes().all(is_digit)
}

/// A task of a service.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Task {
    /// Its number.
    pub id: u64,
    /// The state: `waiting`, `running`, `done`, `failed` or `cancelled`.
    pub state: String,
    /// The reason why it waits, what it does, or how it ended.
    #[serde(default)]
    pub reason: String,
    /// The request.
    #[serde(default)]
    pub request: Value,
    /// The exit code of its last child.
    pub exit_code: Option<i32>,
    /// The table that it made, if any.
    pub made: Option<String>,
}

impl Task {
    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        !matches!(self.state.as_str(), "waiting" | "running")
    }
}

/// A part of a task's log.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct LogPart {
    /// The text; invalid UTF-8 is replaced.
    pub text: String,
    /// The value of `from` for the next part.
    pub next: u64,
    /// The length of the whole log in bytes.
    pub length: u64,
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Page<T> {
    /// The rows, newest first.
    pub items: Vec<T>,
    /// The value of `before` for the next page.
    pub next: Option<u64>,
}

//! Channels and releases.

mod history;
mod make;
mod memory;
mod pulls;

use std::fmt;

use serde::{Deserialize, Serialize};
use strum_macros::{Display, EnumString};
use utoipa::{IntoParams, ToSchema};

use crate::{Digest, Gate, Page, Service, ServiceError, Slice};

pub(crate) use make::parse_channel_library;
pub(crate) use memory::ReleasedTables;
pub use pulls::Pull;

/// An audience of releases; jobs read their table from a channel.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    ToSchema,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum ReleaseChannel {
    /// For trying a table by hand.
    Candidate,
    /// For some jobs or nodes.
    Canary,
    /// For all jobs.
    Production,
}

/// A release channel of a machine and library.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoParams, ToSchema,
)]
#[into_params(parameter_in = Path)]
pub struct ChannelKey {
    /// The machine.
    pub machine: String,
    /// `NAME-VERSION` of the MPI library, as in `openmpi-4.1.4`.
    pub library: String,
    /// The channel.
    pub channel: ReleaseChannel,
}

/// Displays the key, as in `cluster/openmpi-4.1.4/production`.
impl fmt::Display for ChannelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.machine, self.library, self.channel)
    }
}

/// The kind of a release.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Display, EnumString, ToSchema,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum ReleaseAction {
    /// Makes a table current.
    Release,
    /// Makes the previous table current again.
    Rollback,
    /// Makes an empty table current, so that the library's defaults are used everywhere.
    Withdraw,
}

/// A release: a row that never changes.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Release {
    /// Its number; one sequence for the releases of all channels.
    pub sequence: u64,
    /// The release channel.
    #[serde(flatten)]
    pub key: ChannelKey,
    /// The kind of the release.
    pub action: ReleaseAction,
    /// The table that became current.
    pub digest: Digest,
    /// The user who made it.
    pub actor: String,
    /// The reason.
    pub reason: String,
    /// The gates at the time of the release.
    pub gates: Vec<Gate>,
    /// When.
    #[schema(value_type = String)]
    pub at: jiff::Timestamp,
}

/// A request for a release.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseRequest {
    /// The table to release. For `rollback` the table to return to, by default the previous one; absent for
    /// `withdraw`.
    pub digest: Option<Digest>,
    /// The kind of the release.
    pub action: ReleaseAction,
    /// The reason: 1 to 1000 characters. Required to override gates, to roll back and to withdraw.
    #[serde(default)]
    pub reason: String,
    /// Whether to override closed gates; needs the scope `admin` and a reason.
    #[serde(default)]
    pub override_gates: bool,
}

/// The current table of a channel, and the tables that running jobs may still use; nodes fetch this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Manifest {
    /// The channel.
    #[serde(flatten)]
    pub key: ChannelKey,
    /// The number of the release.
    pub sequence: u64,
    /// The table.
    pub digest: Digest,
    /// All digests that were current within the longest wall time, counted while the service ran; the current one first.
    pub keep: Vec<Digest>,
}

impl Service {
    /// The newest release of each channel, sorted by the channels' names.
    ///
    /// # Errors
    /// SQLite.
    pub fn newest_releases(&self) -> Result<Vec<Release>, ServiceError> {
        self.database.read(history::query_newest)
    }

    /// Releases of a channel, newest first.
    ///
    /// # Errors
    /// SQLite.
    pub fn list_releases(
        &self,
        key: &ChannelKey,
        slice: Slice,
    ) -> Result<Page<Release>, ServiceError> {
        let rows = self
            .database
            .read(|connection| history::query_page(connection, key, slice))?;
        Ok(slice.to_page(rows, |release| release.sequence))
    }
}

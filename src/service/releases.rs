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

pub(crate) use make::library_of;
pub(crate) use memory::{Released, since};
pub use pulls::Pull;

/// Where jobs look for a table.
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
    /// For those who try it by hand.
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

/// What a release does.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Display, EnumString, ToSchema,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum ReleaseAction {
    /// Makes a table current.
    Release,
    /// Makes the table current that was so before.
    Rollback,
    /// Makes an empty table current, which leaves every call to the library.
    Withdraw,
}

/// A release: a row that never changes.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Release {
    /// Its number; releases of all channels count together.
    pub sequence: u64,
    /// The release channel.
    #[serde(flatten)]
    pub key: ChannelKey,
    /// What it did.
    pub action: ReleaseAction,
    /// The table that jobs use since then.
    pub digest: Digest,
    /// The user who made it.
    pub actor: String,
    /// Why.
    pub reason: String,
    /// The gates as they stood.
    pub gates: Vec<Gate>,
    /// When.
    #[schema(value_type = String)]
    pub at: jiff::Timestamp,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseRequest {
    /// The table; for `rollback` the one to go back to, by default the one released before; absent for `withdraw`.
    #[serde(default)]
    pub digest: Option<Digest>,
    /// What to do.
    pub action: ReleaseAction,
    /// Why: 1 to 1000 characters. Needed to override gates, to roll back and to withdraw.
    #[serde(default)]
    pub reason: String,
    /// Whether closed gates are passed over; needs the scope `admin` and a reason.
    #[serde(default)]
    pub override_gates: bool,
}

/// What nodes ask for: the table that a channel has now, and those that running jobs may still use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Manifest {
    /// The channel.
    #[serde(flatten)]
    pub key: ChannelKey,
    /// The number of the release.
    pub sequence: u64,
    /// The table.
    pub digest: Digest,
    /// All digests that were current within the longest wall time, this one first.
    pub keep: Vec<Digest>,
}

impl Service {
    /// All channels that have releases, each with its newest one, in the order of their names.
    ///
    /// # Errors
    /// SQLite.
    pub fn channels(&self) -> Result<Vec<Release>, ServiceError> {
        self.database.read(history::newest_of_all)
    }

    /// Releases of a channel, newest first.
    ///
    /// # Errors
    /// SQLite.
    pub fn releases(&self, key: &ChannelKey, slice: Slice) -> Result<Page<Release>, ServiceError> {
        let rows = self
            .database
            .read(|connection| history::page(connection, key, slice))?;
        Ok(slice.page(rows, |release| release.sequence))
    }
}

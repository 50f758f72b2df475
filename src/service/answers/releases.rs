//! Channels and their releases, with the gates that a release passed.

use std::fmt;

use serde::{Deserialize, Serialize};
use strum_macros::{Display, EnumString};
use utoipa::{IntoParams, ToSchema};

use crate::Digest;

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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
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

/// A condition, and whether a table meets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Gate {
    /// The name: `readable`, `library`, `confirmed`, `validated` or `compared`.
    pub name: String,
    /// Whether it is met.
    pub state: GateState,
    /// The reason, as a sentence; with a remedy if the gate is closed.
    pub reason: String,
}

/// Whether a gate lets a table pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Display, ToSchema)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum GateState {
    /// The gate is met.
    Open,
    /// The gate is not met.
    Closed,
    /// The gate is not met, and an administrator has overridden it, with a reason.
    Overridden,
}

impl Gate {
    /// Whether the gate is met or overridden.
    pub fn is_open(&self) -> bool {
        self.state != GateState::Closed
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.reason)
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::json;

    use super::*;
    use crate::Page;

    /// Writes a value, adds a key of a later version, and reads it.
    #[track_caller]
    fn assert_round_trip<T: Serialize + DeserializeOwned + PartialEq + fmt::Debug>(value: &T) {
        let mut answer = json!(value);
        answer["of_later_version"] = json!([1]);
        let read = T::deserialize(&answer).expect("readable");
        assert_eq!(read, *value);
    }

    fn key() -> ChannelKey {
        ChannelKey {
            machine: "local".to_owned(),
            library: "openmpi-4.1.4".to_owned(),
            channel: ReleaseChannel::Canary,
        }
    }

    fn release() -> Release {
        Release {
            sequence: 13,
            key: key(),
            action: ReleaseAction::Rollback,
            digest: Digest::of_bytes(b"a table"),
            actor: "me".to_owned(),
            reason: "slow".to_owned(),
            gates: vec![Gate {
                name: "validated".to_owned(),
                state: GateState::Overridden,
                reason: "see ticket 12".to_owned(),
            }],
            at: "2026-11-20T12:00:00Z".parse().expect("a time"),
        }
    }

    #[test]
    fn answers_about_channels_are_read_as_they_are_written() {
        assert_round_trip(&release());
        let digest = Digest::of_bytes(b"a table");
        assert_round_trip(&Manifest {
            key: key(),
            sequence: 13,
            digest: digest.clone(),
            keep: vec![digest, Digest::of_bytes(b"another")],
        });
        for next in [None, Some(12)] {
            assert_round_trip(&Page {
                items: vec![release()],
                next,
            });
        }
        let last = Page::<Release> {
            items: Vec::new(),
            next: None,
        };
        assert_eq!(json!(last), json!({"items": []}));
    }

    #[test]
    fn a_manifest_names_files_and_no_paths() {
        let digest = Digest::of_bytes(b"a table");
        let manifest = |kept: &str| {
            json!({
                "machine": "local", "library": "openmpi-4.1.4", "channel": "canary", "sequence": 1, "digest": digest,
                "keep": [kept],
            })
        };
        assert!(Manifest::deserialize(manifest(digest.as_str())).is_ok());
        for wrong in [
            "../x",
            "",
            &digest.as_str().to_uppercase(),
            &digest.as_str()[1..],
        ] {
            assert!(Manifest::deserialize(manifest(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn requests_for_releases_are_strict() {
        let request = ReleaseRequest {
            digest: None,
            action: ReleaseAction::Withdraw,
            reason: "the library was upgraded".to_owned(),
            override_gates: true,
        };
        let mut sent = json!(request);
        assert_eq!(
            ReleaseRequest::deserialize(&sent).expect("readable"),
            request
        );
        sent["force"] = json!(true);
        assert!(ReleaseRequest::deserialize(&sent).is_err());
    }
}

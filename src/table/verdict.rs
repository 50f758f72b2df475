//! What `colltune validate` has found, size by size.

use schedule::Collective;
use serde::{Deserialize, Serialize};
use statistics::PairedRatio;
use strum_macros::{Display, IntoStaticStr};
use vocabulary::{Candidate, CommShape, Library, Pattern, RankOrder};

use crate::{Deployment, Deployments, OperatorClass, Operators, RuleSource, ShapeRules};

/// How a candidate compares with the library's default at one size, by fresh launches of `colltune validate`.
///
/// It holds for the library, the conditions and the pattern of calls that it names, and for no other.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// When it was given, in seconds since the Unix epoch.
    pub unix_seconds: u64,
    /// The library that was measured.
    pub library: Library,
    /// The digest of the conditions of its launches.
    pub conditions: String,
    /// How their calls followed each other.
    pub pattern: Pattern,
    /// The collective.
    pub collective: Collective,
    /// The communicator's shape.
    pub shape: CommShape,
    /// The order of ranks on their nodes.
    pub order: RankOrder,
    /// Whether the operator commuted; commutative where nothing is combined.
    pub operators: OperatorClass,
    /// How the candidate was used.
    pub deployment: Deployment,
    /// The candidate.
    pub candidate: Candidate,
    /// The message size.
    pub bytes: u64,
    /// What was found.
    pub found: Found,
    /// The default's time divided by the candidate's; unknown where it failed.
    pub speedup: Option<PairedRatio>,
    /// The seed that probes were drawn from.
    pub seed: u64,
    /// The number of the newest launch that the table's store had then: launches after it are newer evidence.
    /// Absent if there was no store.
    pub newest_launch: Option<u32>,
}

/// What a verdict says of a candidate.
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
    IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Found {
    /// The candidate is faster than the default for certain.
    Faster,
    /// There were enough launches to tell the two apart, and they do not.
    Same,
    /// The candidate is slower for certain.
    Slower,
    /// The candidate fails.
    Failed,
}

impl Verdict {
    /// Whether the default is the better choice.
    pub fn is_wrong(&self) -> bool {
        matches!(self.found, Found::Slower | Found::Failed)
    }

    /// Whether it is about what an entry decides.
    pub(crate) fn is_about(&self, collective: Collective, entry: &ShapeRules) -> bool {
        (self.collective, self.shape) == (collective, entry.shape)
            && entry.source == RuleSource::Measured
            && entry.is_in(self.order)
            && Operators::cover(entry.operators, self.operators)
            && Deployments::cover(entry.deployments, self.deployment)
    }
}

//! The findings of `colltune validate`, by size.

use schedule::Collective;
use serde::{Deserialize, Serialize};
use statistics::PairedRatio;
use strum_macros::{Display, IntoStaticStr};
use vocabulary::{Candidate, CommShape, Distribution, Library, Pattern, RankOrder};

use crate::{Deployment, Deployments, OperatorClass, Operators, RuleSource, ShapeRules};

/// The comparison of a candidate with the library's default at one size, by fresh launches of `colltune validate`.
///
/// It holds only for the library, the conditions and the pattern of calls that it names.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The time of the verdict, in seconds since the Unix epoch.
    pub unix_seconds: u64,
    /// The measured library.
    pub library: Library,
    /// The digest of the conditions of its launches.
    pub conditions: String,
    /// The pattern of calls.
    pub pattern: Pattern,
    /// The collective.
    pub collective: Collective,
    /// The communicator's shape.
    pub shape: CommShape,
    /// The order of ranks on their nodes.
    pub order: RankOrder,
    /// Whether the operator commuted; commutative where nothing is combined.
    pub operators: OperatorClass,
    /// The deployment in which the candidate was used.
    pub deployment: Deployment,
    /// The candidate.
    pub candidate: Candidate,
    /// The message size.
    pub bytes: u64,
    /// The distribution of the data; uniform unless the collective is irregular.
    pub distribution: Distribution,
    /// The finding.
    pub found: Found,
    /// The default's time divided by the candidate's; `None` if it failed.
    pub speedup: Option<PairedRatio>,
    /// The seed that probes were drawn from.
    pub seed: u64,
    /// The number of the newest launch in the table's store at that time; later launches are newer evidence. `None` if
    /// there was no store.
    pub newest_launch: Option<u32>,
}

/// The finding about a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Display, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Found {
    /// The candidate is significantly faster than the default.
    Faster,
    /// No significant difference, with enough launches to find one.
    Same,
    /// The candidate is significantly slower.
    Slower,
    /// The candidate fails.
    Failed,
}

impl Verdict {
    /// Whether the default is the better choice.
    pub fn is_wrong(&self) -> bool {
        matches!(self.found, Found::Slower | Found::Failed)
    }

    /// Whether both are the same verdict, of the store and of the table's file, which may not name the newest launch.
    pub fn is_same(&self, other: &Self) -> bool {
        let without_launch = |verdict: &Self| Self {
            newest_launch: None,
            ..verdict.clone()
        };
        without_launch(self) == without_launch(other)
    }

    /// Whether it has the same finding as an earlier one, about the same call, candidate and conditions.
    pub(crate) fn repeats(&self, earlier: &Self) -> bool {
        let at_this_time = Self {
            unix_seconds: self.unix_seconds,
            speedup: self.speedup,
            seed: self.seed,
            newest_launch: self.newest_launch,
            ..earlier.clone()
        };
        at_this_time == *self
    }

    /// Whether it is about a decision of an entry.
    pub(crate) fn is_about(&self, collective: Collective, entry: &ShapeRules) -> bool {
        (self.collective, self.shape) == (collective, entry.shape)
            && entry.source == RuleSource::Measured
            && entry.holds_for_order(self.order)
            && Operators::hold_for(entry.operators, self.operators)
            && Deployments::hold_for(entry.deployments, self.deployment)
    }
}

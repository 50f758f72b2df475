//! Findings: changes of trends, and what people decided about them.

use serde::{Deserialize, Serialize};
use strum_macros::{Display, EnumString, IntoStaticStr};
use utoipa::ToSchema;

use crate::TaskId;

/// What has changed, as far as the default's time shows it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Display, EnumString, ToSchema,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum FindingCause {
    /// The time of the table's choice changed, and the default's did not.
    Algorithm,
    /// The default's time changed: the machine or the library did.
    Machine,
}

/// What people decided about a finding.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    IntoStaticStr,
    ToSchema,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum FindingState {
    /// It is new: no decision has been made.
    Open,
    /// A person examines the cause.
    Acknowledged,
    /// The new level is accepted.
    Accepted,
    /// The reason of the change is gone.
    Fixed,
    /// It was no change of the machine or the table.
    Invalid,
}

impl FindingState {
    /// All states.
    pub const ALL: [Self; 5] = [
        Self::Open,
        Self::Acknowledged,
        Self::Accepted,
        Self::Fixed,
        Self::Invalid,
    ];
}

/// What a series follows.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Display, EnumString, ToSchema,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum TrendQuantity {
    /// The time of the table's choice divided by the default's.
    Ratio,
    /// The default's time in seconds.
    Default,
}

/// A change of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FoundChange {
    /// The number of the series.
    pub series: u64,
    /// The collective, shape, size and choice of the series.
    pub name: String,
    /// What changed.
    pub quantity: TrendQuantity,
    /// The median before, over the points that were compared.
    pub before: f64,
    /// The median of the new level when the change was found.
    pub after: f64,
    /// The time of the first point of the new level.
    #[schema(value_type = String)]
    pub began_at: jiff::Timestamp,
    /// The task whose point showed the change.
    pub found_by: TaskId,
    /// What another table's choice did meanwhile, if one was measured in the same epoch before and after the change: for
    /// changes of the ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<ChangeControl>,
}

/// The control of a change: the ratio of another choice for the same call, on both sides of the change. If it has
/// changed alike, the table is not at fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChangeControl {
    /// The number of its series.
    pub series: u64,
    /// The full name of the other choice.
    pub chosen: String,
    /// The median of its ratio before the change, over at most 40 points.
    pub before: f64,
    /// The median of its ratio since then, over at most 40 points.
    pub after: f64,
    /// The number of points since then.
    pub points_after: u64,
}

/// A decision about a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FindingNote {
    /// When.
    #[schema(value_type = String)]
    pub at: jiff::Timestamp,
    /// The user who decided.
    pub actor: String,
    /// The state since then.
    pub state: FindingState,
    /// The reason.
    pub reason: String,
}

/// Changes of one machine that have one cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrendFinding {
    /// Its number: 1, 2, ...
    pub id: u64,
    /// The machine.
    pub machine: String,
    /// `NAME-VERSION` of the MPI library.
    pub library: String,
    /// What changed.
    pub cause: FindingCause,
    /// Whether it became slower: the table's choice relative to the default, or the default.
    pub slower: bool,
    /// Its state.
    pub state: FindingState,
    /// The time at which it was found.
    #[schema(value_type = String)]
    pub found_at: jiff::Timestamp,
    /// The changes, by series.
    pub changes: Vec<FoundChange>,
    /// The decisions about it, newest first.
    pub notes: Vec<FindingNote>,
}

/// A finding in a list: how many changes it has. The finding itself has them all, and the decisions about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ListedFinding {
    /// Its number: 1, 2, ...
    pub id: u64,
    /// The machine.
    pub machine: String,
    /// `NAME-VERSION` of the MPI library.
    pub library: String,
    /// What changed.
    pub cause: FindingCause,
    /// Whether it became slower: the table's choice relative to the default, or the default.
    pub slower: bool,
    /// Its state.
    pub state: FindingState,
    /// The time at which it was found.
    #[schema(value_type = String)]
    pub found_at: jiff::Timestamp,
    /// The number of changes.
    pub changes: u64,
}

/// A request to decide about a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Triage {
    /// The new state.
    pub state: FindingState,
    /// The reason; it must not be empty.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn findings_are_read_as_they_are_written() {
        let at: jiff::Timestamp = "2026-11-29T02:00:00Z".parse().expect("a time");
        let finding = TrendFinding {
            id: 3,
            machine: "hydra".to_owned(),
            library: "openmpi-4.1.4".to_owned(),
            cause: FindingCause::Algorithm,
            slower: true,
            state: FindingState::Accepted,
            found_at: at,
            changes: vec![FoundChange {
                series: 1,
                name: "bcast 1x2 64: bcast/chain".to_owned(),
                quantity: TrendQuantity::Ratio,
                before: 0.5,
                after: 0.75,
                began_at: at,
                found_by: 9,
                control: Some(ChangeControl {
                    series: 2,
                    chosen: "bcast/binomial".to_owned(),
                    before: 0.6,
                    after: 0.61,
                    points_after: 2,
                }),
            }],
            notes: vec![FindingNote {
                at,
                actor: "me".to_owned(),
                state: FindingState::Accepted,
                reason: "new switch".to_owned(),
            }],
        };
        let text = serde_json::to_string(&finding).expect("JSON");
        let read: TrendFinding = serde_json::from_str(&text).expect("readable");
        assert_eq!(read, finding);
        for state in FindingState::ALL {
            assert_eq!(json!(state), state.to_string());
            assert_eq!(state.to_string().parse(), Ok(state));
        }
        let strict = Triage::deserialize(&json!({"state": "fixed", "reason": "x", "who": 1}));
        assert!(strict.is_err());
    }
}

//! Decisions as JSON.

use serde::Serialize;
use vocabulary::{Parameters, RankOrder};

use crate::{Confidence, Decision, Deployment, OperatorClass, Policy};

/// A decision of a table.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DecisionJson {
    /// The collective of the query.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "vocabulary::collective_name::list_in_schema")
    )]
    pub collective: &'static str,
    /// Nodes.
    pub nodes: u32,
    /// Ranks per node.
    pub ppn: u32,
    /// Order of ranks; left out if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<RankOrder>,
    /// Message size.
    pub bytes: u64,
    /// Operator class; left out where nothing is combined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator: Option<OperatorClass>,
    /// Deployment.
    pub deployment: Deployment,
    /// Full name of the candidate, with parameters.
    pub candidate: String,
    /// Bare id of the algorithm, or `default`.
    pub algorithm: String,
    /// The parameters given; an empty object if none.
    pub parameters: Parameters,
    /// What decides how the candidate brackets contributions, and so the bits of a result that is rounded, besides the
    /// number of ranks and the parameters: `element`, `root` and `nodes`. Null if nothing is combined or the library's
    /// own choice or algorithm is used, which does not say.
    pub bracketed_by: Option<Vec<&'static str>>,
    /// The most combinations, one after the other, that a contribution to a result goes through: the rounding error of a
    /// sum is at most about this times the machine epsilon, times the sum of the absolute values. For vectors of any
    /// length, with root 0. Null where `bracketed_by` is, and if there are too many ranks to find out quickly.
    pub depth: Option<u32>,
    /// Expected time of the candidate, or null.
    pub expected_seconds: Option<f64>,
    /// Expected time of the library's default, or null.
    pub default_seconds: Option<f64>,
    /// The shape whose times these are if it differs from that of the query, as in `2x4` or `2x4 with ranks in block
    /// order`, or null.
    pub times_of: Option<String>,
    /// Default's time divided by the candidate's, or null.
    pub speedup: Option<f64>,
    /// `high`, `medium` or `low`.
    pub confidence: Confidence,
    /// Whether fresh launches confirmed, on the shape of the query, that the candidate is faster than the default.
    pub confirmed: bool,
    /// Whether `run`, `export` and `deploy` use the decision by default.
    pub deployed: bool,
    /// The reason if they do not, or null.
    pub reason: Option<String>,
    /// The rule that decided, as text.
    pub rule: String,
    /// `measured`, `model`, `interpolated between 2x4 and 8x4`, `nearest 1x2`, `nearest 2x4 with ranks in block order` or `none`.
    pub shape: String,
}

impl Decision<'_> {
    /// The decision as JSON.
    pub fn to_json(&self) -> DecisionJson {
        let query = &self.query;
        let reason = self.reason_withheld(Policy::default());
        DecisionJson {
            collective: query.collective.name(),
            nodes: query.shape.nodes,
            ppn: query.shape.ppn,
            order: query.order.if_known(),
            bytes: query.bytes,
            operator: query.collective.is_reduction().then_some(query.operators),
            deployment: query.deployment,
            candidate: self.candidate.to_string(),
            algorithm: self.candidate.id().to_owned(),
            parameters: self.candidate.parameters(),
            bracketed_by: self.candidate.bracketed_by(),
            depth: self.candidate.combining_depth(
                query.shape,
                query.order,
                query.operators == OperatorClass::Commutative,
            ),
            expected_seconds: self.expected_seconds,
            default_seconds: self.default_seconds,
            times_of: self.matched.describe_stand_in(),
            speedup: self.speedup,
            confidence: self.confidence,
            confirmed: self.confirmed,
            deployed: reason.is_none(),
            reason,
            rule: self.rule.to_string(),
            shape: self.matched.to_string(),
        }
    }
}

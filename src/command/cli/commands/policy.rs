//! The options of verbs that deploy a table.

use table::{Confidence, Policy};

use crate::values;

/// The arguments that say which rules are deployed.
#[derive(Debug, clap::Args)]
pub(super) struct PolicyArgs {
    /// The lowest confidence of rules to use; by default the `min_confidence` of the table's campaign. The library's
    /// default is used in place of other rules
    #[arg(long, value_name = "CONFIDENCE", value_parser = values::confidence_parser())]
    min_confidence: Option<Confidence>,
    /// Also use rules that no fresh launches confirmed, and interpolate for shapes between measured ones
    #[arg(long)]
    unconfirmed: bool,
    /// Also use the rules of the nearest measured shape for other shapes
    #[arg(long)]
    extrapolate: bool,
}

impl PolicyArgs {
    pub(super) fn to_policy(&self) -> Policy {
        Policy {
            min_confidence: self.min_confidence,
            unconfirmed: self.unconfirmed,
            extrapolate: self.extrapolate,
        }
    }
}

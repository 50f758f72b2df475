//! The options of verbs that deploy a table.

use table::{Confidence, Numerics, Policy};

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
    /// What the bits of reductions by colltune's algorithms must not depend on: independent_of_placement,
    /// independent_of_size, both with a comma between them, or none; by default the `numerics` of the table's campaign.
    /// Rules that break it are not used, nor are the library's own algorithms for reductions
    #[arg(long, value_name = "REQUIREMENTS")]
    numerics: Option<Numerics>,
}

impl PolicyArgs {
    pub(super) fn to_policy(&self) -> Policy {
        Policy {
            min_confidence: self.min_confidence,
            unconfirmed: self.unconfirmed,
            extrapolate: self.extrapolate,
            numerics: self.numerics,
        }
    }
}

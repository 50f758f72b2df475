//! The options of all verbs that deploy a table.

use table::{Confidence, Policy};

use crate::values;

/// The rules that are used.
#[derive(Debug, clap::Args)]
pub(super) struct PolicyArgs {
    /// The least confidence of rules that are used; by default the `min_confidence` of the table's campaign. Others
    /// are left to the library's default
    #[arg(long, value_name = "CONFIDENCE", value_parser = values::confidence())]
    min_confidence: Option<Confidence>,
    /// Also use rules that no fresh launches confirmed, and what is interpolated for shapes between measured ones
    #[arg(long)]
    unconfirmed: bool,
    /// Also serve other shapes that were not measured, by the nearest one that was
    #[arg(long)]
    extrapolate: bool,
}

impl PolicyArgs {
    pub(super) fn policy(&self) -> Policy {
        Policy {
            min_confidence: self.min_confidence,
            unconfirmed: self.unconfirmed,
            extrapolate: self.extrapolate,
        }
    }
}

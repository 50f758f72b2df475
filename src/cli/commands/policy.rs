//! Which rules of a table are deployed, as the verbs share it that deploy one.

use table::{Confidence, Policy};

use crate::values;

/// Which rules are used.
#[derive(Debug, clap::Args)]
pub(super) struct PolicyArgs {
    /// The least confidence of rules that are used; by default what the table's campaign says. What has less is
    /// left to the library's default
    #[arg(long, value_name = "CONFIDENCE", value_parser = values::confidence())]
    min_confidence: Option<Confidence>,
    /// Also use rules that no fresh launches confirmed
    #[arg(long)]
    unconfirmed: bool,
    /// Also serve shapes that were not measured, by the nearest one that was
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

//! In which order ranks stood on nodes.

use std::collections::BTreeMap;

use table::RuleSource;
use vocabulary::{CommShape, RankOrder};

/// In which order the ranks of a library's communicators stood on their nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// On shapes that were measured, where launches told it.
    pub recorded: BTreeMap<CommShape, RankOrder>,
    /// What predictions are made for, on all shapes.
    pub usual: RankOrder,
}

impl Orders {
    /// The order on a shape, whose times were measured or come from predictions; unknown where it makes no
    /// difference.
    pub fn of(&self, shape: CommShape, source: RuleSource) -> RankOrder {
        let order = match source {
            RuleSource::Measured => self.recorded.get(&shape).copied().unwrap_or_default(),
            RuleSource::Model | RuleSource::Interpolated => self.usual,
        };
        order.told_on(shape).unwrap_or_default()
    }
}

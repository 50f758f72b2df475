//! The orders of ranks on nodes.

use std::collections::BTreeMap;

use table::RuleSource;
use vocabulary::{CommShape, RankOrder};

/// The orders of ranks on nodes in a library's communicators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// By measured shape, where launches recorded the order.
    pub recorded: BTreeMap<CommShape, RankOrder>,
    /// The order that predictions assume on all shapes.
    pub usual: RankOrder,
}

impl Orders {
    /// The order on a shape, for rules of this source; unknown where the order makes no difference.
    pub fn order_on(&self, shape: CommShape, source: RuleSource) -> RankOrder {
        let order = match source {
            RuleSource::Measured => self.recorded.get(&shape).copied().unwrap_or_default(),
            RuleSource::Model | RuleSource::Interpolated => self.usual,
        };
        order.known_on_shape(shape).unwrap_or_default()
    }
}

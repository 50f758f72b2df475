//! The order of a campaign's ranks on their nodes.

use std::collections::BTreeSet;

use campaign::Campaign;
use fit::Orders;
use store::Store;
use vocabulary::{Library, RankOrder};

use crate::TunerError;

/// The recorded orders of a library's ranks, and the order for predictions: that of all launches if they agree, or else
/// the one that follows from the launcher's options.
pub(crate) fn orders(
    store: Option<&Store>,
    library: &Library,
    campaign: Option<&Campaign>,
) -> Result<Orders, TunerError> {
    let recorded = match store {
        Some(store) => store.rank_orders(library)?,
        None => Default::default(),
    };
    let telling = recorded.iter().filter(|(shape, _)| shape.has_orders());
    let launched: BTreeSet<RankOrder> = telling.map(|(_, order)| *order).collect();
    let usual = match launched.first().filter(|_| launched.len() == 1) {
        Some(order) => *order,
        None => campaign.map_or(RankOrder::Unknown, Campaign::rank_order),
    };
    Ok(Orders { recorded, usual })
}

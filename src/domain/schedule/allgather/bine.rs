//! The butterfly of the reduce-scatter run backwards between Bine's partners, the farthest first.

use super::recursive_doubling::{self, Exchange, Steps};
use crate::registry::{Algorithm, PLAIN};
use crate::tree::fold::Fold;
use crate::tree::pairing::Pairing;
use crate::{Collective, Cost};

/// Cost `(L + 1) alpha + p beta m` if `p = 2^L >= 4`. Other numbers of ranks fold as in recursive doubling.
///
/// A rank first gives its contribution to the rank whose path along partners has its number, so that what
/// partners gather are neighbouring contributions. Distances are ..., 11, 5, 3, 1, 1 instead of ..., 16, 8, 4,
/// 2, 1, and near partners exchange the most, so fewer bytes leave a node or a group of nodes.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allgather,
    id: "bine",
    summary: "contributions change places, then all that is gathered is exchanged between Bine partners, neighbours last",
    source: "De Sensi et al. 2025, arXiv 2508.17311",
    formula: "(L+1) alpha + p beta m if p = 2^L >= 4",
    cost: |ranks| {
        let exchange = u64::from(ranks > 2);
        let steps = u64::from(ranks.ilog2()) + exchange;
        let moved = u64::from(ranks) - 1 + exchange;
        ranks
            .is_power_of_two()
            .then_some(Cost::moving(steps, moved))
    },
    program: |shape, rank| recursive_doubling::program(STEPS, shape, rank),
    ..PLAIN
};

const STEPS: Steps = Steps {
    count: |fold| fold.steps() + u32::from(changes_places(fold)),
    exchange: |fold, position, step| {
        let steps = fold.steps();
        let step = step + u32::from(!changes_places(fold));
        let block = |place| Pairing::Bine.block_of_position(place, steps);
        let Some(nearer) = step.checked_sub(1) else {
            let holder = Pairing::Bine.position_of_block(position, steps);
            let held = block(position);
            return [(holder, position), (held, held)].map(|(with, first)| Exchange {
                with,
                first,
                count: 1,
            });
        };
        let partner = Pairing::Bine.partner_position(position, steps - step, steps);
        let count = 1 << nearer;
        [position, partner].map(|other| Exchange {
            with: partner,
            first: block(other) & !(count - 1),
            count,
        })
    },
};

/// Whether a position may hold the block of another one; with two positions neither does.
fn changes_places(fold: Fold) -> bool {
    fold.positions() > 2
}

//! Signals up and down a binary tree.

use super::up_and_down::{Neighbours, UpAndDown};
use crate::Collective;
use crate::registry::{Algorithm, PLAIN};

/// About `2 floor(log2 p) alpha`, as on the binomial tree, but no rank has more than three neighbours.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Barrier,
    id: "binary",
    summary: "signals up a binary tree and back",
    source: "combining tree barrier: Mellor-Crummey, Scott 1991",
    formula: "2 floor(log2 p) alpha, and the overhead of a message for each further child",
    program: |shape, rank| {
        // Ranks can be as many as a C `int` counts, so twice a rank fits.
        let children = [2 * rank + 1, 2 * rank + 2];
        Box::new(UpAndDown(Neighbours {
            parent: rank.checked_sub(1).map(|before| before / 2),
            children: children
                .into_iter()
                .filter(|child| *child < shape.ranks)
                .collect(),
        }))
    },
    ..PLAIN
};

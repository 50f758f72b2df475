//! Contributions move along the chain of ranks; each rank appends its own to those that it received.

use super::collecting;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::branch::chain;
use crate::{Collective, Cost};

/// Cost `(p - 1) alpha + p (p - 1)/2 beta m`: nothing overlaps. Kept for comparison with `ring`, which is pipelined.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Gather,
    id: "ring_accumulate",
    summary: "each rank receives all that lies behind it, appends its own and sends on",
    source: "Donninelli",
    formula: "(p-1) alpha + p (p-1)/2 beta m",
    cost: |ranks| {
        let ranks = u64::from(ranks);
        Some(Cost::moving(ranks - 1, ranks * (ranks - 1) / 2))
    },
    scratch: |shape, rank| collecting::scratch(chain, shape, rank),
    program: |shape, rank| collecting::program(chain, shape, rank),
    ..PLAIN
};

//! Store and forward along the chain of ranks towards the root.

use super::streaming;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::branch::chain;
use crate::{Collective, Cost};

/// Cost `(p - 1) (alpha + beta m)`.
///
/// Rank `j` after the root receives `p - j - 1` contributions and sends `p - j`, the next one
/// arriving while the previous one leaves: two buffers. Donninelli's ring has one, see `ring_blocking`; he did not get
/// sends that overlap to work.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Gather,
    id: "ring",
    summary: "contributions move towards the root one after the other, from rank to rank",
    source: "the ring: Donninelli",
    formula: "(p-1) (alpha + beta m)",
    cost: |ranks| Some(Cost::whole(u64::from(ranks) - 1, 0)),
    scratch: |shape, rank| streaming::scratch(chain, shape, rank),
    program: |shape, rank| streaming::program(chain, shape, rank),
    ..PLAIN
};

//! Every rank tells rank 0, and rank 0 tells every rank.

use super::up_and_down::{Neighbours, UpAndDown};
use crate::Collective;
use crate::registry::{Algorithm, PLAIN};

/// Cost `2 (alpha + (p - 1) o)`: only the overhead `o` of a message adds up at rank 0.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Barrier,
    id: "linear",
    summary: "every rank signals rank 0, which signals every rank",
    source: "central barrier: Mellor-Crummey, Scott 1991; Open MPI's linear",
    formula: "2 (alpha + (p-1) o), o the overhead of a message",
    program: |shape, rank| {
        let is_root = rank == 0;
        Box::new(UpAndDown(Neighbours {
            parent: (!is_root).then_some(0),
            children: if is_root {
                (1..shape.ranks).collect()
            } else {
                Vec::new()
            },
        }))
    },
    ..PLAIN
};

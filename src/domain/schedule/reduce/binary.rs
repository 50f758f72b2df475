//! A perfect binary tree towards the root, whole vectors.

use super::relayed;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::ordered::{Perfect, node_in_tree, steps_up};
use crate::{BracketedBy, Collective, Cost};

/// Cost `2H (alpha + beta m + gamma m)`: both children of a rank arrive one after the other.
///
/// The tree of `2^(H+1) - 1` nodes is cut at the ranks that do not exist. `H` counts edges: on `h = H + 1`
/// levels these are `2 (h - 1)` rounds. The `H + 1` rounds of the paper let a rank take both children's messages at once.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "binary",
    summary: "pre-order numbered perfect binary tree, cut at p, ordered for every root",
    source: "Winklehner and Friedl 2016 for root 0; other roots: ours",
    formula: "2H (alpha + beta m + gamma m)",
    brackets_by: &[BracketedBy::Root],
    cost: |ranks| Some(Cost::combining(steps_up::<Perfect>(ranks))),
    scratch: |shape, rank| relayed::scratch(node_in_tree::<Perfect>, shape, rank),
    program: |shape, rank| relayed::program(node_in_tree::<Perfect>, shape, rank),
    ..PLAIN
};

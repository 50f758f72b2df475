//! The doubly pipelined, dual-root algorithm.

use super::doubly_pipelined::{self, Tree};
use crate::registry::{Algorithm, PLAIN};
use crate::tree::post_order::{root_children, steps_down, steps_up};
use crate::{Collective, Cost, Parameter, Rank, Shape};

/// Cost `4H - 2 + 3b` steps and `2H - 2 + 3b` combinations on `p = 2 (2^(H+1) - 1)` ranks.
///
/// `H` counts the edges from a root to its deepest leaf. The paper writes p = `2^h - 2`, so `h = H + 2`, and states
/// `4h - 3 + 3 (b - 1)` steps. That is 4 more than its own Algorithm 1 takes, blocks without elements included:
/// `4 (h - 2) + 1 + 3 (b - 1)`, as here. Its `2 (2h + 2 (b - 1))` steps of one tree are 4 too many as well. The
/// combinations, and both for other numbers of ranks, were counted on the rounds.
///
/// The lower and the upper half of the ranks each form a post-order tree; the two roots exchange their partial blocks
/// and combine them to results. Ordered: the lower root combines `own o received`, the upper `received o own`.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    id: "dual_root",
    summary: "doubly pipelined: blocks go up and down two trees at once, roots exchange them",
    source: "Träff 2021; combinations, and trees that are not perfect, counted on the rounds",
    formula: "(4H-2 + 3b) (alpha + beta m/b) + (2H-2 + 3b) gamma m/b",
    parameters: &[Parameter::Blocks],
    cost,
    scratch: |shape, rank| doubly_pipelined::scratch(shape, rank, tree(shape, rank)),
    program: |shape, rank| doubly_pipelined::program(shape, rank, tree(shape, rank)),
    ..PLAIN
};

fn cost(ranks: u32) -> Option<Cost> {
    let (lower, upper) = (ranks / 2, ranks - ranks / 2);
    let up = i64::from(steps_up(upper));
    let down = i64::from(steps_down(lower).max(steps_down(upper)));
    // In every turn a rank exchanges with its children and its parent, a root with the other root.
    let turn = i64::from(root_children(upper)) + 1;
    Some(Cost::pipelined(
        [up + 1 + down - turn, turn],
        [up + 1 - turn, turn],
    ))
}

/// The half to which a rank belongs.
fn tree(shape: &Shape, rank: Rank) -> Tree {
    let (middle, ranks) = (shape.ranks / 2, shape.ranks);
    if rank < middle {
        Tree {
            ranks: 0..middle,
            other_root: Some(ranks - 1),
        }
    } else {
        Tree {
            ranks: middle..ranks,
            other_root: middle.checked_sub(1),
        }
    }
}

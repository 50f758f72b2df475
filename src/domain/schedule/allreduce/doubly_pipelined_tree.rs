//! One post-order tree, up and down pipelines sharing each exchange.

use super::doubly_pipelined::{self, Tree};
use crate::registry::{Algorithm, PLAIN};
use crate::tree::post_order::{root_children, steps_down, steps_up};
use crate::{Collective, Cost, Exact, Parameter, Shape};

/// Cost `4H - 2 + 3b` steps and `2H - 3 + 2b` combinations on a perfect tree of height `H >= 2`, from
/// two blocks on: as many steps as two roots take, at fewer combinations.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    id: "doubly_pipelined_tree",
    summary: "doubly pipelined: blocks go up and down one post-order tree at once",
    source: "Träff 2021",
    formula: "(4H-2 + 3b) (alpha + beta m/b) + (2H-3 + 2b) gamma m/b, b >= 2",
    parameters: &[Parameter::Blocks],
    cost,
    scratch: |shape, rank| doubly_pipelined::scratch(shape, rank, tree(shape)),
    program: |shape, rank| doubly_pipelined::program(shape, rank, tree(shape)),
    ..PLAIN
};

fn tree(shape: &Shape) -> Tree {
    Tree {
        ranks: 0..shape.ranks,
        other_root: None,
    }
}

fn cost(ranks: u32) -> Option<Cost> {
    let (up, down) = (i64::from(steps_up(ranks)), i64::from(steps_down(ranks)));
    let children = i64::from(root_children(ranks));
    if ranks <= 5 {
        // In trees this small no rank delays the exchanges of two others.
        let turn = [up + down - children, children];
        return Some(Cost::pipelined(turn, [up - children, children]));
    }
    // On six ranks the longest chain of messages passes by one more combination.
    let passed = 1 + i64::from(ranks == 6);
    let (steps, combinations) = ([up + down + 1 - 3, 3], [up - passed - 2, 2]);
    let exact = Exact::From(2);
    Some(Cost::pipelined_where(exact, steps, combinations))
}

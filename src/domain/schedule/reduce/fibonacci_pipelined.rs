//! A pipelined Fibonacci tree towards the root.

use super::relayed;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::ordered::{Fibonacci, node_in_tree, steps_up};
use crate::{BracketedBy, Collective, Cost, Parameter};

/// Cost `i - 2 + 2b` steps and as many combinations on the tree of order `i >= 2`.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "fibonacci_pipelined",
    summary: "pipeline up a Fibonacci tree, ordered for every root",
    source: "the tree: Winklehner and Friedl 2016 for root 0; pipelining lemma: Träff 2021",
    formula: "(i-2 + 2b) (alpha + beta m/b + gamma m/b), p < fib(i+3)",
    parameters: &[Parameter::Blocks],
    brackets_by: &[BracketedBy::Root],
    cost,
    scratch: |shape, rank| relayed::scratch(node_in_tree::<Fibonacci>, shape, rank),
    program: |shape, rank| relayed::program(node_in_tree::<Fibonacci>, shape, rank),
    ..PLAIN
};

fn cost(ranks: u32) -> Option<Cost> {
    let (up, turn) = (
        i64::from(steps_up::<Fibonacci>(ranks)),
        i64::from(ranks - 1).min(2),
    );
    Some(Cost::pipelined([up - turn, turn], [up - turn, turn]))
}

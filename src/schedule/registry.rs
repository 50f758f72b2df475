//! The catalogue: one row an algorithm.

use std::fmt;

use crate::program::Program;
use crate::{Collective, Parameter, PipelineCost, Rank, Scratch, Shape};
use crate::{allreduce, bcast, reduce};

/// An algorithm and everything that is known about it.
pub struct Algorithm {
    /// What it carries out.
    pub collective: Collective,
    /// Its name within the collective.
    pub id: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// The parameters that it takes.
    pub parameters: &'static [Parameter],
    /// Whether it combines only adjacent ranges of ranks, lower ranks on the left, for every root
    /// and number of ranks: the condition for operators that are not commutative.
    pub ordered: bool,
    /// The constants of its closed form on this many ranks, at least 2, where there is one.
    pub(crate) cost: fn(ranks: u32) -> Option<PipelineCost>,
    /// The number of blocks that it always uses on this many ranks, unless it is a parameter.
    pub(crate) fixed_blocks: fn(ranks: u32) -> u32,
    /// The scratch buffers that every rank needs.
    pub(crate) scratch: fn(&Shape) -> Vec<Scratch>,
    /// The definition.
    pub(crate) program: fn(&Shape, Rank) -> Box<dyn Program>,
}

/// All algorithms, by collective.
pub static ALGORITHMS: &[Algorithm] = &[
    bcast::linear::ALGORITHM,
    bcast::linear_nonblocking::ALGORITHM,
    bcast::mst::ALGORITHM,
    bcast::binomial::ALGORITHM,
    bcast::chain::ALGORITHM,
    bcast::binary_pipelined::ALGORITHM,
    reduce::linear::ALGORITHM,
    reduce::mst::ALGORITHM,
    reduce::binomial::ALGORITHM,
    reduce::fibonacci::ALGORITHM,
    reduce::binary::ALGORITHM,
    reduce::chain::ALGORITHM,
    reduce::binary_pipelined::ALGORITHM,
    reduce::fibonacci_pipelined::ALGORITHM,
    allreduce::recursive_doubling::ALGORITHM,
    allreduce::ring::ALGORITHM,
    allreduce::reduce_broadcast::ALGORITHM,
    allreduce::pipelined_tree::ALGORITHM,
    allreduce::dual_root::ALGORITHM,
];

/// The algorithm with a full name such as `allreduce/dual_root`.
pub fn find(name: &str) -> Option<&'static Algorithm> {
    let (collective, id) = name.split_once('/')?;
    of(collective.parse().ok()?).find(|algorithm| algorithm.id == id)
}

/// The algorithms of a collective.
pub fn of(collective: Collective) -> impl Iterator<Item = &'static Algorithm> {
    ALGORITHMS
        .iter()
        .filter(move |algorithm| algorithm.collective == collective)
}

impl Algorithm {
    /// The full name, `collective/id`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.collective, self.id)
    }

    /// Whether it takes a parameter.
    pub fn takes(&self, parameter: Parameter) -> bool {
        self.parameters.contains(&parameter)
    }

    /// The constants of the closed form for root 0; `None` below 2 ranks or where none is known.
    ///
    /// They are to be evaluated at [`Algorithm::fixed_blocks`] blocks if that is given.
    pub fn cost(&self, ranks: u32) -> Option<PipelineCost> {
        if ranks < 2 { None } else { (self.cost)(ranks) }
    }

    /// The number of blocks if the algorithm does not leave it open.
    pub fn fixed_blocks(&self, ranks: u32) -> Option<u32> {
        (!self.takes(Parameter::Blocks)).then(|| (self.fixed_blocks)(ranks))
    }
}

impl fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name())
    }
}

/// For [`Algorithm`] rows: the vector stays in one piece.
pub(crate) fn one_block(_ranks: u32) -> u32 {
    1
}

/// For [`Algorithm`] rows: no memory beside the call's own buffers.
pub(crate) fn no_scratch(_: &Shape) -> Vec<Scratch> {
    Vec::new()
}

/// For [`Algorithm`] rows: there is no closed form.
pub(crate) fn no_closed_form(_ranks: u32) -> Option<PipelineCost> {
    None
}

//! The times at which blocks pass the edges of two trees: the first tree carries the even blocks, the second one the
//! odd blocks.
//!
//! The root of both trees is outside of them; the other ranks are the trees' positions, in rank order.

use crate::tree::two_trees::TwoTrees;
use crate::{Exact, Rank, Shape};

/// An edge of one tree, with the times of its blocks: the `i`-th passes in round `arrival + 2i`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    /// The rank at the other end.
    pub(crate) peer: Rank,
    /// Whether it is an edge of the second tree.
    pub(crate) second: bool,
    arrival: u32,
}

/// The times at which blocks pass the edges of one rank.
#[derive(Clone, Debug)]
pub(crate) struct Timetable {
    /// The upward edges, one in each tree; none at the root.
    pub(crate) above: Vec<Edge>,
    /// The downward edges, the earlier one first; in one tree only, except at the root.
    pub(crate) below: Vec<Edge>,
    blocks: u32,
}

/// The number of steps that the broadcast takes in addition to one per block, on `ranks` ranks, at least 2; and the
/// numbers of blocks for which that is exact. Takes O(p log p) time.
pub(crate) fn broadcast_latency(ranks: u32) -> (i64, Exact) {
    let trees = TwoTrees::new(ranks - 1);
    let latest = |second| {
        let arrivals = (1..ranks).map(|position| trees.arrival(second, position));
        i64::from(arrivals.max().unwrap_or(0))
    };
    // With an even number of blocks the last one goes through the second tree, with an odd number through the first.
    let (first, second) = (latest(false), latest(true));
    match second - first {
        // No position waits for the inserted one below the second tree.
        _ if !ranks.is_multiple_of(4) => (first, Exact::From(2)),
        1 => (first, Exact::From(2)),
        later if later > 1 => (second - 1, Exact::Even),
        _ => (first, Exact::Odd),
    }
}

impl Timetable {
    /// The timetable of a rank, for at least two ranks.
    pub(crate) fn new(shape: &Shape, rank: Rank) -> Self {
        let Shape {
            ranks,
            root,
            blocks,
            ..
        } = *shape;
        let trees = TwoTrees::new(ranks - 1);
        let at = |position: u32| position - u32::from(position <= root);
        let position = rank + u32::from(rank < root);
        let down = |second: bool, place: u32| Edge {
            peer: at(place),
            second,
            arrival: trees.arrival(second, place),
        };
        let both = [false, true];
        if rank == root {
            let below = both.map(|second| down(second, trees.root_position(second)));
            return Self {
                above: vec![],
                below: below.into(),
                blocks,
            };
        }
        let edges = both.map(|second| trees.edges_at(second, position));
        let mut below: Vec<Edge> = both
            .into_iter()
            .zip(edges)
            .flat_map(|(second, edges)| edges.children.into_iter().map(move |c| (second, c)))
            .filter_map(|(second, child)| Some(down(second, child?)))
            .collect();
        below.sort_by_key(|edge| edge.arrival);
        let above = both.map(|second| Edge {
            peer: edges[usize::from(second)].parent.map_or(root, at),
            second,
            arrival: trees.arrival(second, position),
        });
        Self {
            above: above.into(),
            below,
            blocks,
        }
    }

    /// The number of blocks that a tree carries.
    fn blocks_carried(&self, second: bool) -> u32 {
        if !second {
            self.blocks.div_ceil(2)
        } else {
            self.blocks / 2
        }
    }

    /// The first round in which a block passes, and the one after the last.
    pub(crate) fn rounds(&self) -> std::ops::Range<u64> {
        let edges = || self.above.iter().chain(&self.below);
        let used = || edges().filter(|edge| self.blocks_carried(edge.second) > 0);
        let first = used().map(|edge| edge.arrival.into()).min();
        let end = |edge: &Edge| {
            u64::from(edge.arrival) + 2 * u64::from(self.blocks_carried(edge.second)) - 1
        };
        first.unwrap_or(0)..used().map(end).max().unwrap_or(0)
    }

    /// The number of blocks that pass the downward edges.
    pub(crate) fn passing_down(&self) -> u64 {
        let edges = self.below.iter();
        edges
            .map(|edge| u64::from(self.blocks_carried(edge.second)))
            .sum()
    }

    /// The number of them that pass after a round.
    pub(crate) fn passing_down_after(&self, round: u64) -> u64 {
        let after = |edge: &Edge| {
            let carried = u64::from(self.blocks_carried(edge.second));
            let until = (round + 2).saturating_sub(edge.arrival.into()) / 2;
            carried.saturating_sub(until)
        };
        self.below.iter().map(after).sum()
    }

    /// The block that passes an edge in a round.
    pub(crate) fn block_in_round(&self, edge: &Edge, round: u64) -> Option<u64> {
        let since = round.checked_sub(edge.arrival.into())?;
        let turn = since / 2;
        let passes = since.is_multiple_of(2) && turn < self.blocks_carried(edge.second).into();
        passes.then(|| 2 * turn + u64::from(edge.second))
    }
}

//! Circulant graphs: every rank communicates with the ranks at a few distances, the same for all ranks.
//!
//! The distances halve, rounded up, from the number of ranks to 1. Blocks that leave one rank in turn reach all
//! others along them, and no rank ever sends or receives two at once (Träff 2024, Optimal broadcast schedules in
//! logarithmic time). In round `k` of each group of `L = ceil(log2 p)` rounds, a rank sends to the one at distance
//! `k` after it; the block numbers of the next `L` rounds are larger by `L`.

use crate::{Rank, Shape};

/// The distances of all steps, ascending from 1 to `ranks`: each is the next divided by `radix`, rounded up.
/// `ceil(log_radix ranks)` steps lead from one to the next.
pub(crate) fn circulant_distances(radix: u32, ranks: u32) -> Vec<u32> {
    let divided = |distance: &u32| (*distance > 1).then(|| distance.div_ceil(radix));
    // A program of each of a million ranks asks for them: room for radix 2, so that they need not move.
    let mut distances = Vec::with_capacity(ranks.ilog2() as usize + 2);
    distances.extend(std::iter::successors(Some(ranks), divided));
    distances.reverse();
    distances
}

/// The messages with which cyclic ranges of `held` ranks grow to `next`, or shrink back: the distance from sender to
/// receiver, and the number of ranks in the message; the first one is the longest.
pub(crate) fn step_messages([held, next]: [u32; 2]) -> impl Iterator<Item = (u32, u32)> {
    let distances = (held..next).step_by(held as usize);
    distances.map(move |distance| (distance, held.min(next - distance)))
}

/// The graph of a number of ranks, at least two.
struct Graph {
    ranks: u32,
    distances: Vec<i64>,
}

impl Graph {
    fn new(ranks: u32) -> Self {
        let distances = circulant_distances(2, ranks).into_iter().map(i64::from);
        Self {
            ranks,
            distances: distances.collect(),
        }
    }

    fn levels(&self) -> usize {
        self.distances.len() - 1
    }

    /// The first block that a node other than the root receives.
    fn first_block(&self, node: u32) -> usize {
        let mut rest = i64::from(node);
        for (step, distance) in self.distances.iter().enumerate().rev() {
            if rest == *distance {
                return step;
            }
            if rest > *distance {
                rest -= distance;
            }
        }
        self.levels()
    }

    /// The blocks that a node other than the root receives in the first rounds; negative numbers mean blocks of earlier
    /// rounds.
    fn received_blocks(&self, node: u32) -> Vec<i64> {
        let first = self.first_block(node);
        let mut search = Search {
            graph: self,
            target: i64::from(self.ranks) + i64::from(node),
            taken: 1 << first,
            blocks: Vec::with_capacity(self.levels()),
        };
        search.extend_from(0, 2 * i64::from(self.ranks), self.levels());
        let levels = self.levels();
        let block = |found: usize| {
            if found == levels {
                first as i64
            } else {
                found as i64 - levels as i64
            }
        };
        search.blocks.into_iter().map(block).collect()
    }
}

/// The search for the paths on which blocks reach a node: for each round in turn, the block whose path leaves the
/// root last.
struct Search<'a> {
    graph: &'a Graph,
    target: i64,
    /// The set of blocks that already have a round, as bits.
    taken: u64,
    blocks: Vec<usize>,
}

impl Search<'_> {
    /// Extends the path that has reached `node` by steps up to `step`, below node `bound`.
    fn extend_from(&mut self, node: i64, mut bound: i64, last_step: usize) {
        let distances = &self.graph.distances;
        for step in (0..=last_step).rev() {
            let round = self.blocks.len();
            if round == self.graph.levels() {
                return;
            }
            let next = node + distances[step];
            let is_taken = self.taken >> step & 1 == 1;
            if is_taken || next > self.target - distances[round] || next >= bound {
                continue;
            }
            if next <= self.target - distances[round + 1] {
                self.extend_from(next, bound, step);
            }
            let reached = self.blocks.len();
            if reached == self.graph.levels() || node > self.target - distances[reached + 1] {
                return;
            }
            bound = next;
            self.blocks.push(step);
            self.taken |= 1 << step;
        }
    }
}

/// The timetable of a rank: which of `b` blocks it sends and receives in which of `b - 1 + L` rounds.
pub(crate) struct Timetable {
    shape: Shape,
    node: u32,
    distances: Vec<i64>,
    /// The blocks that are sent and received in the first rounds; `None` where the root would receive.
    sends: Vec<Option<i64>>,
    receives: Vec<Option<i64>>,
}

/// A passing block: the rank at the other end, and the block's number.
pub(crate) type Passing = (Rank, u64);

impl Timetable {
    /// The timetable of a rank, for at least two ranks. Takes O(log² p) time.
    pub(crate) fn new(shape: &Shape, rank: Rank) -> Self {
        let graph = Graph::new(shape.ranks);
        let node = (rank + (shape.ranks - shape.root)) % shape.ranks;
        let receives = |other: u32| match other {
            0 => vec![None; graph.levels()],
            _ => graph.received_blocks(other).into_iter().map(Some).collect(),
        };
        let after = |step: usize| {
            let node = i64::from(node) + graph.distances[step];
            (node % i64::from(shape.ranks)) as u32
        };
        let steps = 0..graph.levels();
        Self {
            shape: shape.clone(),
            node,
            sends: steps.map(|step| receives(after(step))[step]).collect(),
            receives: receives(node),
            distances: graph.distances,
        }
    }

    fn levels(&self) -> u64 {
        self.sends.len() as u64
    }

    /// The number of rounds left out at the start, so that the last round ends a group of `L`.
    fn left_out(&self) -> u64 {
        let rounds = self.rounds();
        rounds.next_multiple_of(self.levels()) - rounds
    }

    pub(crate) fn rounds(&self) -> u64 {
        u64::from(self.shape.blocks) - 1 + self.levels()
    }

    fn rank_of_node(&self, node: i64) -> Rank {
        let ranks = i64::from(self.shape.ranks);
        ((node + i64::from(self.shape.root)) % ranks) as Rank
    }

    /// The sent and the received block of a round.
    pub(crate) fn round(&self, index: u64) -> [Option<Passing>; 2] {
        let round = index + self.left_out();
        let step = (round % self.levels()) as usize;
        let shift = (round - step as u64) as i64 - self.left_out() as i64;
        // There are no blocks after the last one, which takes their place.
        let last = i64::from(self.shape.blocks) - 1;
        let block = |block: Option<i64>| {
            let block = (block? + shift).min(last);
            u64::try_from(block).ok()
        };
        let (node, distance) = (i64::from(self.node), self.distances[step]);
        let before = node - distance + i64::from(self.shape.ranks);
        let sent = block(self.sends[step]).map(|block| (self.rank_of_node(node + distance), block));
        let received = block(self.receives[step]).map(|block| (self.rank_of_node(before), block));
        [sent, received]
    }

    /// For each step, whether the sent block, and the received one, is sent again later: in the last `L` rounds, and
    /// in other rounds.
    pub(crate) fn sent_again(&self) -> Vec<[[bool; 2]; 2]> {
        let levels = self.levels() as i64;
        let again = |block: Option<i64>, step: usize, is_last: bool| {
            let Some(block) = block else { return false };
            let is_same = |other: &i64| {
                if is_last && block >= 0 {
                    *other >= 0
                } else {
                    *other == block
                }
            };
            self.sends[step + 1..].iter().flatten().any(is_same)
                || !is_last && self.sends.contains(&Some(block - levels))
        };
        let steps = self.sends.iter().zip(&self.receives).enumerate();
        steps
            .map(|(step, (sent, received))| {
                [true, false]
                    .map(|is_last| [*sent, *received].map(|block| again(block, step, is_last)))
            })
            .collect()
    }

    /// The step of a round, and whether it is one of the last `L`.
    pub(crate) fn step_of_round(&self, index: u64) -> (usize, bool) {
        let step = (index + self.left_out()) % self.levels();
        (step as usize, index + self.levels() >= self.rounds())
    }
}

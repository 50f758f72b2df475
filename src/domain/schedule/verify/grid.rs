//! The calls on which algorithms are proved.

use std::ops::RangeInclusive;

use crate::{
    Algorithm, Blocks, Collective, Parameter, Parameters, Placed, Rank, Request, part_algorithms_of,
};

/// Ranges of the properties of a call; [`Grid::visit_requests`] has every combination that makes a difference.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Ranks of the communicator.
    pub ranks: RangeInclusive<u32>,
    /// Block counts of pipelined algorithms.
    pub blocks: Vec<u32>,
    /// The largest number of ranks for which every rank is tried as the root; beyond that, the first, the middle and
    /// the last one.
    pub every_root_of: u32,
}

/// The tested radices: every form of node, and the radices in use.
const RADICES: [u32; 5] = [2, 3, 4, 8, 16];

/// The numbers of requests that are tried: one message at a time, and batches that do and do not divide the others.
const MAX_REQUESTS: [u32; 4] = [1, 2, 3, 16];

/// The numbers of leaders that are tried, in addition to one.
const LEADERS: [u32; 3] = [2, 3, 4];

impl Grid {
    /// Calls `visit` with every call on a communicator of this size, until it fails.
    ///
    /// The lengths produce empty and uneven blocks; a call without data has only the length 0. Parts, and the blocks of an
    /// alltoallv, also have different lengths where MPI allows it. For each number of nodes, an algorithm that knows nodes is tried
    /// with one of the lengths, either in place or not, and for many ranks with one of the roots.
    ///
    /// # Errors
    /// The first error of `visit`.
    pub fn visit_requests<E>(
        &self,
        algorithm: &'static Algorithm,
        ranks: u32,
        mut visit: impl FnMut(&Request<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let collective = algorithm.collective;
        let places: &[bool] = if collective.allows_in_place() {
            &[false, true]
        } else {
            &[false]
        };
        let roots = self.roots(algorithm, ranks);
        let placements = self.placements(algorithm, ranks);
        for (turn, parameters) in self.parameters(algorithm).into_iter().enumerate() {
            let blocks = block_count(algorithm, &parameters, ranks);
            let uneven = uneven_counts(ranks, blocks);
            let total = uneven.iter().sum();
            let mut lengths = if collective.has_data() {
                uneven_lengths(blocks).map(|units| (units, None)).to_vec()
            } else {
                vec![(0, None)]
            };
            if collective.has_part_counts() {
                lengths.push((total, Some(&uneven[..])));
            }
            // One for each pair of ranks, so only where they are needed.
            let blocks_by_pair = collective.has_block_counts().then(|| uneven_blocks(ranks));
            if let Some([in_any_order, _]) = &blocks_by_pair {
                lengths.push((1, Some(in_any_order)));
            }
            for (other, &placed) in placements.iter().enumerate() {
                // With many nodes, the lengths and in-place alternate.
                let turn = turn + other;
                let in_turn = |count: usize, by: usize| match placements.len() {
                    1 => 0..count,
                    _ => turn / by % count..turn / by % count + 1,
                };
                let some_roots = if ranks > self.every_root_of {
                    in_turn(roots.len(), 4)
                } else {
                    0..roots.len()
                };
                for &(units, counts) in &lengths[in_turn(lengths.len(), 1)] {
                    for &in_place in &places[in_turn(places.len(), 2)] {
                        // Only in place must blocks be as long as those that replace them.
                        let counts = match &blocks_by_pair {
                            Some(by_place) => counts.map(|_| &by_place[usize::from(in_place)][..]),
                            None => counts,
                        };
                        for &root in &roots[some_roots.clone()] {
                            visit(&Request {
                                root,
                                in_place,
                                units,
                                counts,
                                parameters,
                                placed,
                                ..Request::among_ranks(ranks)
                            })?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The roots that are tried on a communicator of this size; only rank 0 if the collective has no root.
    pub fn roots(&self, algorithm: &Algorithm, ranks: u32) -> Vec<Rank> {
        if !algorithm.collective.is_rooted() {
            return vec![0];
        }
        let mut roots: Vec<Rank> = if ranks <= self.every_root_of {
            (0..ranks).collect()
        } else {
            vec![0, ranks / 2, ranks - 1]
        };
        roots.dedup();
        roots
    }

    /// One node; for an algorithm that knows nodes, also all numbers of nodes of equal size, in block and in cyclic
    /// order.
    pub fn placements(&self, algorithm: &Algorithm, ranks: u32) -> Vec<Placed<'static>> {
        let mut placements = vec![Placed::Together];
        let several = (2..=ranks).filter(|nodes| ranks.is_multiple_of(*nodes));
        for nodes in several.filter(|_| algorithm.knows_nodes()) {
            let per_node = ranks / nodes;
            placements.push(Placed::Block { per_node });
            placements.extend((per_node > 1).then_some(Placed::Cyclic { nodes }));
        }
        placements
    }

    /// Every inner algorithm of a composition, with every block count, radix and number of requests that has an effect.
    pub fn parameters(&self, algorithm: &'static Algorithm) -> Vec<Parameters<'static>> {
        let mut all = Vec::new();
        for given in all_compositions(algorithm) {
            let takes = |parameter| algorithm.uses(parameter, &given);
            let block_choices: Vec<Option<Blocks>> = if takes(Parameter::Blocks) {
                self.blocks
                    .iter()
                    .map(|b| Some(Blocks::Count(*b)))
                    .collect()
            } else {
                vec![None]
            };
            let radices: Vec<Option<u32>> = if takes(Parameter::Radix) {
                RADICES.map(Some).to_vec()
            } else {
                vec![None]
            };
            let requests: Vec<Option<u32>> = if takes(Parameter::MaxRequests) {
                MAX_REQUESTS.map(Some).to_vec()
            } else {
                vec![None]
            };
            for &blocks in &block_choices {
                for &radix in &radices {
                    all.extend(requests.iter().map(|&max_requests| Parameters {
                        blocks,
                        radix,
                        max_requests,
                        ..given
                    }));
                }
            }
        }
        all
    }
}

/// Every inner reduce with the default broadcast, and every inner broadcast with the default reduce; likewise for the
/// algorithms within and between nodes and for several leaders. The parts run one after the other and are independent,
/// so other pairs would prove nothing more. Other algorithms have a single entry without parts.
fn all_compositions(algorithm: &'static Algorithm) -> Vec<Parameters<'static>> {
    let none = Parameters::default();
    let ids = |parameter, collective| {
        let ids = part_algorithms_of(collective).filter(move |_| algorithm.takes(parameter));
        ids.map(|part| Some(part.id))
    };
    let choices = |parameter| algorithm.choices_for(parameter).map(Some);
    let leaders = LEADERS.map(Some).into_iter();
    let leaders = leaders.filter(|_| algorithm.takes(Parameter::Leaders));
    let mut all = Vec::new();
    all.extend(
        ids(Parameter::Reduce, Collective::Reduce).map(|reduce| Parameters { reduce, ..none }),
    );
    all.extend(ids(Parameter::Bcast, Collective::Bcast).map(|bcast| Parameters { bcast, ..none }));
    all.extend(choices(Parameter::Node).map(|node| Parameters { node, ..none }));
    all.extend(choices(Parameter::Network).map(|network| Parameters { network, ..none }));
    all.extend(leaders.map(|leaders| Parameters { leaders, ..none }));
    if all.is_empty() { vec![none] } else { all }
}

/// The number of blocks into which the data that the length of the call counts is cut.
fn block_count(algorithm: &Algorithm, parameters: &Parameters<'_>, ranks: u32) -> u64 {
    let pieces = algorithm
        .inner_algorithms(parameters)
        .map(|part| part.pieces(ranks));
    let pieces = pieces.max().unwrap_or(1).max(algorithm.pieces(ranks));
    let each = match parameters.blocks {
        Some(Blocks::Count(blocks)) => blocks,
        _ => 1,
    };
    let all = u64::from(pieces) * u64::from(each);
    if algorithm.collective.is_sized_by_part() {
        all.div_ceil(ranks.into())
    } else {
        all
    }
}

/// Lengths that leave a block empty, and blocks uneven.
fn uneven_lengths(blocks: u64) -> [u64; 2] {
    [blocks - 1, 2 * blocks + 1]
}

/// Blocks that are empty, short and long: first in any order, then as long in both directions.
fn uneven_blocks(ranks: u32) -> [Vec<u64>; 2] {
    [2, 1].map(|step| {
        let row = |from| (0..ranks).map(move |to| [0, 3, 1][((from + step * to) % 3) as usize]);
        (0..ranks).flat_map(row).collect()
    })
}

/// Parts that are empty, short and long.
fn uneven_counts(ranks: u32, blocks: u64) -> Vec<u64> {
    let long = blocks.div_ceil(ranks.into()) + 1;
    let count = |rank| [0, long, 1][rank as usize % 3];
    (0..ranks).map(count).collect()
}

//! The vector of a call; all buffers are pieces of it.
//!
//! A call has one vector of units, which are elements in reductions and bytes in data movement. The input of a gather
//! is the rank's part of that vector, the root's output the whole. So block 7 means the same everywhere, except in an
//! alltoall: there the vector of a rank's input is its row of blocks, and that of its output is its column. The verifier
//! can name every unit, and algorithms of different collectives can be put together: a broadcast is a scatter and an
//! allgather on one buffer.

use std::ops::Range;
use std::sync::Arc;

use crate::{BlockRange, Nodes, Partition, Rank, Run, Span};

/// The vector of a call: its length, and its division among the ranks.
#[derive(Clone, Debug)]
pub(crate) struct Vector {
    pub(crate) units: u64,
    pub(crate) ranks: u32,
    /// Parts of given sizes; even parts if absent.
    pub(crate) parts: Option<PartSizes>,
    /// Which ranks share a node.
    pub(crate) nodes: Nodes,
}

/// Parts of a vector that need not be even.
#[derive(Clone, Debug)]
pub(crate) enum PartSizes {
    /// All parts are known.
    Listed {
        /// The start of each rank's part, and the end.
        offsets: Arc<[u64]>,
        largest: u64,
    },
    /// Only the part of one rank is known; the others count as empty.
    Only { rank: Rank, units: u64 },
}

impl PartSizes {
    /// Parts of these sizes; `None` if their sum overflows.
    pub(crate) fn new(counts: impl IntoIterator<Item = u64>) -> Option<Self> {
        let (mut end, mut largest) = (0_u64, 0);
        let mut offsets = vec![end];
        for count in counts {
            end = end.checked_add(count)?;
            largest = count.max(largest);
            offsets.push(end);
        }
        Some(Self::Listed {
            offsets: offsets.into(),
            largest,
        })
    }

    /// Units of all parts.
    pub(crate) fn total_units(&self) -> u64 {
        match self {
            Self::Listed { offsets, .. } => offsets[offsets.len() - 1],
            Self::Only { units, .. } => *units,
        }
    }

    /// The start of a rank's part; for the number of ranks, the end.
    fn start(&self, rank: u64) -> u64 {
        match self {
            Self::Listed { offsets, .. } => offsets[rank as usize],
            Self::Only { rank: own, units } if rank > (*own).into() => *units,
            Self::Only { .. } => 0,
        }
    }

    fn largest(&self) -> u64 {
        match self {
            Self::Listed { largest, .. } => *largest,
            Self::Only { units, .. } => *units,
        }
    }
}

/// The start of block `block` of `blocks` even blocks of `units`.
fn even_block_start(block: u64, blocks: u64, units: u64) -> u64 {
    block * (units / blocks) + block.min(units % blocks)
}

impl Vector {
    /// The vector of these parts.
    pub(crate) fn of_parts(&self, parts: PartSizes) -> Self {
        Self {
            units: parts.total_units(),
            ranks: self.ranks,
            parts: Some(parts),
            nodes: self.nodes.clone(),
        }
    }

    /// The start of a rank's part; for rank `ranks`, the end.
    pub(crate) fn part_start(&self, rank: u64) -> u64 {
        match &self.parts {
            Some(parts) => parts.start(rank),
            None => even_block_start(rank, self.ranks.into(), self.units),
        }
    }

    /// The units that a partition divides: the whole vector, or a part of it.
    fn divided_units(&self, partition: Partition) -> Range<u64> {
        match partition {
            Partition::Within { parts, part, .. } => {
                let start = |number: u32| even_block_start(number.into(), parts.into(), self.units);
                start(part)..start(part + 1)
            }
            Partition::OfRanks { first, ranks } => {
                self.part_start(first.into())..self.part_start(u64::from(first) + u64::from(ranks))
            }
            _ => 0..self.units,
        }
    }

    fn block_start(&self, partition: Partition, block: u64) -> u64 {
        match partition {
            Partition::Even(blocks) => even_block_start(block, blocks.into(), self.units),
            Partition::PerRank { chunks, .. } => {
                let (rank, chunk) = (block / u64::from(chunks), block % u64::from(chunks));
                let start = self.part_start(rank);
                match chunk {
                    0 => start,
                    _ => {
                        start
                            + even_block_start(
                                chunk,
                                chunks.into(),
                                self.part_start(rank + 1) - start,
                            )
                    }
                }
            }
            Partition::ByChunk { ranks, chunks } => {
                let (chunk, rank) = (block / u64::from(ranks), block % u64::from(ranks));
                self.part_start(rank) + even_block_start(chunk, chunks.into(), self.part_start(1))
            }
            // Only the first of the block's pieces; `column_runs` has all.
            Partition::Columns {
                vectors,
                rows,
                columns,
            } => block * (self.units_of(vectors) / (u64::from(rows) * u64::from(columns))),
            // Only the first of the block's pieces; `digit_runs` has all.
            Partition::ByDigit { ranks, weight, .. } => {
                let first = (block * u64::from(weight)).min(ranks.into());
                first * (self.units / u64::from(ranks))
            }
            Partition::OfRanks { first, .. } => self.part_start(u64::from(first) + block),
            Partition::OfNodes { nodes } if block == u64::from(nodes) => self.units,
            Partition::OfNodes { .. } => {
                self.part_start(self.nodes.rank_at(block as u32, 0).into())
            }
            Partition::Within { pieces, chunks, .. } => {
                let (piece, chunk) = (block / u64::from(chunks), block % u64::from(chunks));
                let cut = self.divided_units(partition);
                let start = |number| even_block_start(number, pieces.into(), range_length(&cut));
                let within = match chunk {
                    0 => 0,
                    _ => even_block_start(chunk, chunks.into(), start(piece + 1) - start(piece)),
                };
                cut.start + start(piece) + within
            }
        }
    }

    /// The number of units in a span, whose blocks must exist.
    ///
    /// Simulations call this for both ends of every message, so it uses one division, or two, while computing the place
    /// would take several.
    pub(crate) fn span_length(&self, span: &Span) -> u64 {
        let (units, blocks) = match (span.partition, &self.parts) {
            (Partition::Even(blocks), _) => (self.units, blocks),
            (Partition::PerRank { ranks, chunks: 1 }, None) => (self.units, ranks),
            (
                Partition::Within {
                    parts,
                    part,
                    pieces,
                    chunks: 1,
                },
                _,
            ) => {
                let (part, parts) = (u64::from(part), u64::from(parts));
                let is_larger = part < self.units % parts;
                (self.units / parts + u64::from(is_larger), pieces)
            }
            (partition, _) => {
                let runs = self.block_runs(partition, span.blocks);
                return runs.map_or(0, |runs| runs.into_iter().map(Run::units).sum());
            }
        };
        let BlockRange { start, count } = span.blocks;
        let all = u64::from(blocks);
        let (each, larger) = (units / all, units % all);
        let larger_up_to = |block: u64| block.min(larger);
        let end = start + count;
        let larger_within = match end.checked_sub(all) {
            None => larger_up_to(end) - larger_up_to(start),
            Some(over) => larger - larger_up_to(start) + larger_up_to(over),
        };
        count * each + larger_within
    }

    /// At least the number of units in the largest block.
    pub(crate) fn largest_block(&self, partition: Partition) -> u64 {
        let part = |ranks: u32| match &self.parts {
            Some(parts) => parts.largest(),
            None => self.units.div_ceil(ranks.into()),
        };
        match partition {
            Partition::Even(blocks) => self.units.div_ceil(blocks.into()),
            Partition::PerRank { ranks, chunks } | Partition::ByChunk { ranks, chunks } => {
                part(ranks).div_ceil(chunks.into())
            }
            Partition::OfRanks { .. } => part(self.ranks),
            Partition::OfNodes { .. } => {
                let ranks = u64::from(self.nodes.largest_node_size());
                part(self.ranks).saturating_mul(ranks).min(self.units)
            }
            Partition::Columns {
                vectors, columns, ..
            } => self.units_of(vectors).div_ceil(columns.into()),
            Partition::ByDigit { .. } => self.units,
            Partition::Within { pieces, chunks, .. } => {
                let divided = range_length(&self.divided_units(partition));
                divided.div_ceil(pieces.into()).div_ceil(chunks.into())
            }
        }
    }

    /// The units of a cyclic range of blocks of any partition: up to the end of the divided units, and from their
    /// start on. `None` if these blocks do not exist.
    pub(crate) fn block_runs(&self, partition: Partition, range: BlockRange) -> Option<[Run; 2]> {
        let (ranks, chunks) = match partition {
            Partition::ByChunk { ranks, chunks } => (ranks, chunks),
            Partition::Columns {
                vectors,
                rows,
                columns,
            } => return self.column_runs(self.units_of(vectors), [rows, columns], range),
            Partition::ByDigit {
                ranks,
                radix,
                weight,
            } => return self.digit_runs(ranks, radix, weight, range),
            _ => return Some(self.block_pieces(partition, range)?.map(Run::from)),
        };
        let all = u64::from(ranks);
        let (chunk, start, count) = (range.start / all, range.start % all, range.count);
        let parts_are_equal = self.parts.is_none() && self.units.is_multiple_of(all);
        if !parts_are_equal || chunk >= chunks.into() || count > all {
            return None;
        }
        let stride = self.units / all;
        let bounds = [chunk, chunk + 1].map(|chunk| even_block_start(chunk, chunks.into(), stride));
        let run = |rank: u64, blocks| {
            let [first, end] = bounds.map(|bound| rank * stride + bound);
            Run::new(first..end, blocks, stride)
        };
        let before_the_end = count.min(all - start);
        Some([run(start, before_the_end), run(0, count - before_the_end)])
    }

    /// The units of as many vectors.
    fn units_of(&self, vectors: u32) -> u64 {
        self.units.saturating_mul(vectors.into())
    }

    /// The units of a cyclic range of columns of a table with these numbers of rows and columns.
    fn column_runs(&self, units: u64, table: [u32; 2], range: BlockRange) -> Option<[Run; 2]> {
        let [rows, all] = table.map(u64::from);
        let BlockRange { start, count } = range;
        let parts_are_equal = self.parts.is_none() && units.is_multiple_of(rows * all);
        if !parts_are_equal || start >= all || count > all {
            return None;
        }
        let part = units / (rows * all);
        let run = |first: u64, blocks: u64| {
            Run::new(first * part..(first + blocks) * part, rows, all * part)
        };
        let before_the_end = count.min(all - start);
        Some([run(start, before_the_end), run(0, count - before_the_end)])
    }

    /// The units of the ranks that have one of several consecutive digits, which do not wrap around: pieces of one length
    /// at equal distances, and the last one, which the number of ranks may cut short.
    fn digit_runs(
        &self,
        ranks: u32,
        radix: u32,
        weight: u32,
        range: BlockRange,
    ) -> Option<[Run; 2]> {
        let [ranks, radix, weight] = [ranks, radix, weight].map(u64::from);
        let BlockRange { start, count } = range;
        let parts_are_equal = self.parts.is_none() && self.units.is_multiple_of(ranks);
        if !parts_are_equal || start + count > radix {
            return None;
        }
        let part = self.units / ranks;
        // In ranks: the start of the first piece, the length of a piece, and the distance between pieces.
        let (first, length, distance) = (start * weight, count * weight, radix * weight);
        let complete = (ranks + distance)
            .saturating_sub(first + length)
            .checked_div(distance)
            .unwrap_or(0);
        let begin = first + complete * distance;
        let rest = begin.min(ranks)..(begin + length).min(ranks);
        let pieces = Run::new(
            first * part..(first + length) * part,
            complete,
            distance * part,
        );
        Some([pieces, Run::from(rest.start * part..rest.end * part)])
    }

    /// The same as ranges, for a partition with contiguous blocks.
    pub(crate) fn block_pieces(
        &self,
        partition: Partition,
        range: BlockRange,
    ) -> Option<[Range<u64>; 2]> {
        let BlockRange { start, count } = range;
        let all = partition.blocks();
        let is_in_pieces = matches!(
            partition,
            Partition::Columns { .. } | Partition::ByDigit { .. }
        );
        if start >= all || count > all || is_in_pieces {
            return None;
        }
        let first = self.block_start(partition, start);
        Some(match (start + count).checked_sub(all) {
            None | Some(0) => [first..self.block_start(partition, start + count), 0..0],
            Some(over) => {
                let cut = self.divided_units(partition);
                [first..cut.end, cut.start..self.block_start(partition, over)]
            }
        })
    }
}

pub(crate) fn range_length(range: &Range<u64>) -> u64 {
    range.end - range.start
}

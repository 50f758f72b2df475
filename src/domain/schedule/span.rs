//! Symbolic memory: buffers, partitions into blocks, and spans of blocks.
//!
//! A span names a range of blocks of a partition: even blocks of the vector, each rank's part in chunks, or one chunk
//! of each part. The range is cyclic, so a subtree that wraps around is one message of two pieces; chunks of several
//! parts are pieces at one distance (`run.rs`). The partition belongs to the span, so that algorithms that cut the
//! vector differently can be put together.

use std::fmt;

use crate::Rank;

/// The memory that a rank's program may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Buffer {
    /// The send buffer; never written. Absent in broadcasts.
    Input,
    /// The receive buffer (in a broadcast, the one buffer).
    Output,
    /// Scratch memory, by its index among the buffers that the algorithm declares.
    Scratch(u8),
}

impl Buffer {
    /// Its index in a list of all buffers: the input, the output, then the scratch buffers.
    pub const fn index(self) -> usize {
        match self {
            Self::Input => 0,
            Self::Output => 1,
            Self::Scratch(index) => 2 + index as usize,
        }
    }
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input => f.write_str("input"),
            Self::Output => f.write_str("output"),
            Self::Scratch(index) => write!(f, "scratch{index}"),
        }
    }
}

/// The division of a call's vector into blocks.
///
/// All buffers of the call are pieces of the vector: the operands of a reduction, the message of a broadcast, or all
/// ranks' parts in rank order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Partition {
    /// This many blocks whose sizes differ by at most one unit, the larger ones first.
    Even(u32),
    /// Every rank's part of the vector in `chunks` even blocks; block `rank * chunks + chunk`.
    PerRank {
        /// Ranks in the communicator.
        ranks: u32,
        /// Blocks a part.
        chunks: u32,
    },
    /// The same blocks in another order, chunk by chunk: block `chunk * ranks + rank`. A range is within one chunk, and
    /// the first rank follows the last. Only if all parts have the same size, so that the blocks of a chunk are at
    /// equal distances.
    ByChunk {
        /// Ranks in the communicator.
        ranks: u32,
        /// Blocks a part.
        chunks: u32,
    },
    /// Only one of `parts` even parts of the vector, in `pieces` even pieces of `chunks` even blocks each: block
    /// `piece * chunks + chunk`. The ranks of a node or a lane divide their part in this way.
    Within {
        /// Even parts of the vector.
        parts: u32,
        /// The index of the part.
        part: u32,
        /// Even pieces of this part.
        pieces: u32,
        /// Blocks a piece.
        chunks: u32,
    },
    /// `rows * columns` parts of the same size, row by row; block `c` is column `c`, a part of every row. Usually these are
    /// the ranks' parts, or some of them together. Only if all ranks' parts have the same size.
    Columns {
        /// The vectors that are divided, one after the other: 1, or more in memory that has room for them.
        vectors: u32,
        /// Rows of parts.
        rows: u32,
        /// Parts a row.
        columns: u32,
    },
    /// The parts of `ranks` ranks by one digit of the ranks' numbers in base `radix`, the one that counts `weight`: block
    /// `d` is the parts of all ranks whose digit is `d`. Only if all parts have the same size.
    ByDigit {
        /// Ranks in the communicator.
        ranks: u32,
        /// The base of the numbers.
        radix: u32,
        /// A power of the base.
        weight: u32,
    },
    /// Only the parts of `ranks` consecutive ranks: block `b` is that of rank `first + b`.
    OfRanks {
        /// The first rank.
        first: Rank,
        /// The number of ranks.
        ranks: u32,
    },
    /// The parts of each node's ranks: block `n` is those of node `n`. Only if the ranks of every node are
    /// consecutive.
    OfNodes {
        /// Number of nodes.
        nodes: u32,
    },
}

impl Partition {
    /// The vector in one piece.
    pub const WHOLE: Self = Self::Even(1);

    /// One block per rank: its part of the vector.
    pub const fn parts(ranks: u32) -> Self {
        Self::PerRank { ranks, chunks: 1 }
    }

    /// Number of blocks.
    pub fn blocks(self) -> u64 {
        match self {
            Self::Even(blocks)
            | Self::Columns {
                columns: blocks, ..
            }
            | Self::OfRanks { ranks: blocks, .. }
            | Self::ByDigit { radix: blocks, .. }
            | Self::OfNodes { nodes: blocks } => blocks.into(),
            Self::PerRank {
                ranks: pieces,
                chunks,
            }
            | Self::ByChunk {
                ranks: pieces,
                chunks,
            }
            | Self::Within { pieces, chunks, .. } => u64::from(pieces) * u64::from(chunks),
        }
    }
}

/// Consecutive blocks of a partition, cyclically: the first block follows the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockRange {
    /// The first block.
    pub start: u64,
    /// The number of blocks, at most that of the partition.
    pub count: u64,
}

/// A piece of a buffer that an action reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// The buffer.
    pub buffer: Buffer,
    /// The division of the vector. In an alltoall the two ends of a message may name different blocks, of as many units.
    pub partition: Partition,
    /// The blocks.
    pub blocks: BlockRange,
}

impl Span {
    /// The whole vector.
    pub fn whole(buffer: Buffer) -> Self {
        Self::block(buffer, Partition::WHOLE, 0)
    }

    /// One block.
    pub fn block(buffer: Buffer, partition: Partition, block: u64) -> Self {
        Self::blocks(buffer, partition, block, 1)
    }

    /// `count` blocks from `start`, cyclically.
    pub fn blocks(buffer: Buffer, partition: Partition, start: u64, count: u64) -> Self {
        Self {
            buffer,
            partition,
            blocks: BlockRange { start, count },
        }
    }

    /// One of its blocks, of a span that does not wrap around.
    pub(crate) fn nth_block(self, block: u64) -> Self {
        Self::block(self.buffer, self.partition, self.blocks.start + block)
    }

    /// The same blocks of another buffer.
    pub fn in_buffer(self, buffer: Buffer) -> Self {
        Self { buffer, ..self }
    }

    /// Whether two spans of one partition have blocks in common.
    #[inline]
    pub(crate) fn shares_blocks(&self, other: &Self) -> bool {
        let (a, b) = (self.blocks, other.blocks);
        // The distance from the start of each to that of the other, cyclically.
        let distance = |from: u64, to: u64| match to.checked_sub(from) {
            Some(distance) => distance,
            None => to + self.partition.blocks() - from,
        };
        a.count > 0
            && b.count > 0
            && (distance(a.start, b.start) < a.count || distance(b.start, a.start) < b.count)
    }

    /// The span in pieces that do not wrap around: one or two.
    pub fn unwrapped_pieces(self) -> impl Iterator<Item = Self> {
        let BlockRange {
            start: begin,
            count: total,
        } = self.blocks;
        let first = total.min(self.partition.blocks() - begin);
        let piece = move |start, count| Self {
            blocks: BlockRange { start, count },
            ..self
        };
        [piece(begin, first), piece(0, total - first)]
            .into_iter()
            .filter(|piece| piece.blocks.count > 0)
    }
}

impl fmt::Display for Span {
    /// `output 2/3` is the third of three blocks, `output 2..4/5` two blocks, `output 4..1/5` the
    /// last and the first of five, `output` the whole vector, `output 1.2/4.3` the third of three
    /// chunks of the second of four ranks' parts, `output 1..3/4 [2/3]` the third chunks of the second
    /// and third part, `output 0..2/4 of 1/3` the first half of the second of three parts,
    /// `output 1/4 of 3 rows` the second of four columns, `scratch0 1/4 of 3 rows of 2 vectors` that of two vectors
    /// together, `output 1/3 by digit 9` the parts of the ranks whose digit that
    /// counts 9 in base 3 is 1, `output 1/4 of ranks 8..12` the part of rank 9,
    /// `output 1/4 of nodes` those of the ranks of the second of four nodes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BlockRange { start, count } = self.blocks;
        // Blocks of one chunk are named by their ranks.
        let (start, all) = match self.partition {
            Partition::ByChunk { ranks, .. } => (start % u64::from(ranks), ranks.into()),
            partition => (start, partition.blocks()),
        };
        let within = match self.partition {
            Partition::Within { parts, part, .. } if parts > 1 => Some(format!("{part}/{parts}")),
            Partition::OfRanks { first, ranks } => {
                Some(format!("ranks {first}..{}", first + ranks))
            }
            Partition::OfNodes { .. } => Some("nodes".to_owned()),
            _ => None,
        };
        if self.partition.blocks() == 1 {
            write!(f, "{}", self.buffer)?;
            return within.map_or(Ok(()), |part| write!(f, " {part}"));
        }
        let number = |block: u64| match self.partition {
            Partition::PerRank { chunks, .. } | Partition::Within { chunks, .. } if chunks > 1 => {
                let chunks = u64::from(chunks);
                format!("{}.{}", block / chunks, block % chunks)
            }
            _ => block.to_string(),
        };
        write!(f, "{} {}", self.buffer, number(start))?;
        match (start + count, count) {
            (_, 1) => {}
            (end, _) if end > all => write!(f, "..{}", number(end - all))?,
            (end, _) => write!(f, "..{}", number(end))?,
        }
        match self.partition {
            Partition::PerRank {
                ranks: pieces,
                chunks,
            }
            | Partition::Within { pieces, chunks, .. }
                if chunks > 1 =>
            {
                write!(f, "/{pieces}.{chunks}")?;
            }
            Partition::ByChunk { chunks, .. } => {
                write!(f, "/{all} [{}/{chunks}]", self.blocks.start / all)?;
            }
            Partition::Columns { vectors, rows, .. } => {
                write!(f, "/{all} of {rows} rows")?;
                if vectors > 1 {
                    write!(f, " of {vectors} vectors")?;
                }
            }
            Partition::ByDigit { weight, .. } => write!(f, "/{all} by digit {weight}")?,
            _ => write!(f, "/{all}")?,
        }
        within.map_or(Ok(()), |part| write!(f, " of {part}"))
    }
}

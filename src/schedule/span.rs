//! Symbolic memory: buffers, partitions into blocks, and spans of blocks.

use std::fmt;
use std::ops::Range;

/// The memory that a rank's program may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Buffer {
    /// The send buffer; never written. Absent in broadcasts and where the call is in place.
    Input,
    /// The receive buffer (in a broadcast, the one buffer).
    Output,
    /// Memory of the algorithm's own, by its place in [`crate::Schedule::scratch`].
    Scratch(u8),
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

/// How a vector is cut into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Partition {
    /// This many blocks whose sizes differ by at most one unit, the larger ones first.
    Even(u32),
}

impl Partition {
    /// The vector in one piece.
    pub const WHOLE: Self = Self::Even(1);

    /// Number of blocks.
    pub fn blocks(self) -> u32 {
        let Self::Even(blocks) = self;
        blocks
    }

    /// Where block `block` begins in a vector of `units`; `blocks()` gives its end.
    pub fn start(self, block: u32, units: u64) -> u64 {
        let Self::Even(blocks) = self;
        let (block, blocks) = (u64::from(block), u64::from(blocks));
        block * (units / blocks) + block.min(units % blocks)
    }

    /// Units of the largest block.
    pub fn largest(self, units: u64) -> u64 {
        let Self::Even(blocks) = self;
        units.div_ceil(u64::from(blocks))
    }
}

/// Consecutive blocks of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockRange {
    /// The first block.
    pub start: u32,
    /// One past the last block.
    pub end: u32,
}

/// A piece of a buffer that an action reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// The buffer.
    pub buffer: Buffer,
    /// How the buffer's vector is cut; the same at both ends of a message.
    pub partition: Partition,
    /// Which blocks.
    pub blocks: BlockRange,
}

impl Span {
    /// A buffer's whole vector.
    pub fn whole(buffer: Buffer) -> Self {
        Self::block(buffer, Partition::WHOLE, 0)
    }

    /// One block.
    pub fn block(buffer: Buffer, partition: Partition, block: u32) -> Self {
        Self {
            buffer,
            partition,
            blocks: BlockRange {
                start: block,
                end: block + 1,
            },
        }
    }

    /// The same blocks of another buffer.
    pub fn of(self, buffer: Buffer) -> Self {
        Self { buffer, ..self }
    }
}

impl fmt::Display for Span {
    /// `output 2/3` is the third of three blocks, `output` the whole vector.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BlockRange { start, end } = self.blocks;
        match self.partition.blocks() {
            1 => write!(f, "{}", self.buffer),
            all if end == start + 1 => write!(f, "{} {start}/{all}", self.buffer),
            all => write!(f, "{} {start}..{end}/{all}", self.buffer),
        }
    }
}

/// A buffer of the algorithm's own, as it declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scratch {
    /// Room for the whole vector.
    Whole,
    /// Room for this many blocks of a partition; block `j` stands in slot `j mod slots`.
    Window {
        /// The partition that spans of this buffer use.
        partition: Partition,
        /// Blocks that fit.
        slots: u32,
    },
}

impl Scratch {
    /// Units of memory needed for a vector of `units`.
    pub fn capacity(self, units: u64) -> u64 {
        match self {
            Self::Whole => units,
            Self::Window { partition, slots } => partition.largest(units) * u64::from(slots),
        }
    }

    /// Where the blocks of a span stand within this buffer.
    pub(crate) fn locate(self, span: &Span, units: u64) -> Range<u64> {
        let vector = vector_range(span, units);
        match self {
            Self::Whole => vector,
            Self::Window { partition, slots } => {
                let slot = u64::from(span.blocks.start % slots);
                let start = slot * partition.largest(units);
                start..start + (vector.end - vector.start)
            }
        }
    }
}

/// The units of the vector that a span covers.
pub(crate) fn vector_range(span: &Span, units: u64) -> Range<u64> {
    let Span {
        partition, blocks, ..
    } = span;
    partition.start(blocks.start, units)..partition.start(blocks.end, units)
}

//! The layout of a rank's buffers in its memory.
//!
//! A layout says which pieces of the call's vector each buffer holds. `MPI_IN_PLACE` is just another layout, in which
//! input and output are the same memory. Algorithms do not see the difference, except reduce-scatters, alltoalls and
//! scans, whose output may overlap input that is still needed: these see [`in_place`](crate::Shape::in_place).
//!
//! Scratch memory is declared for each rank: room for some blocks, or a window on a few of them that moves along.

use std::ops::Range;

use crate::vector::{Vector, range_length};
use crate::{BlockRange, Buffer, Partition, Rank, Run, Span};

/// The content of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// These blocks of a partition, in this order, one after the other.
    Blocks {
        /// The partition; spans of the buffer may use others.
        partition: Partition,
        /// The blocks.
        blocks: BlockRange,
    },
    /// Any `slots` consecutive blocks of a partition, counted cyclically from block `first`; the `j`-th is in slot `j
    /// mod slots`.
    Window {
        /// The partition that spans of this buffer use.
        partition: Partition,
        /// Block 0 of the count.
        first: u64,
        /// The number of blocks that fit.
        slots: u32,
    },
}

impl Room {
    /// Room for the whole vector.
    pub const WHOLE: Self = Self::Blocks {
        partition: Partition::WHOLE,
        blocks: BlockRange { start: 0, count: 1 },
    };

    /// Room for `slots` consecutive blocks of a partition.
    pub fn window(partition: Partition, slots: u32) -> Self {
        Self::Window {
            partition,
            first: 0,
            slots,
        }
    }

    /// Room for one rank's part.
    pub fn part(ranks: u32, rank: Rank) -> Self {
        Self::parts(ranks, rank, 1)
    }

    /// Room for the parts of `count` ranks from `first`, cyclically.
    pub fn parts(ranks: u32, first: Rank, count: u32) -> Self {
        Self::Blocks {
            partition: Partition::parts(ranks),
            blocks: BlockRange {
                start: first.into(),
                count: count.into(),
            },
        }
    }

    fn capacity(self, vector: &Vector) -> u64 {
        match self {
            Self::Blocks { partition, blocks } => vector
                .block_runs(partition, blocks)
                .map_or(0, |runs| runs.into_iter().map(Run::units).sum()),
            Self::Window {
                partition, slots, ..
            } => vector.largest_block(partition) * u64::from(slots),
        }
    }

    /// The place of a span, from the start of the room.
    fn locate(&self, span: &Span, vector: &Vector) -> Option<[Run; 2]> {
        let [first, second] = vector.block_runs(span.partition, span.blocks)?;
        match *self {
            Self::Window {
                partition,
                first: zero,
                slots,
            } => {
                let all = partition.blocks();
                let slot = (span.blocks.start + all - zero) % all % u64::from(slots);
                let fits = partition == span.partition
                    && slot + span.blocks.count <= slots.into()
                    && second.is_empty();
                let start = slot * vector.largest_block(partition);
                fits.then(|| [Run::from(start..start + first.units()), Run::default()])
            }
            Self::Blocks { partition, blocks } => {
                let [begin, rest] = vector.block_runs(partition, blocks)?;
                let place = |run: Run| {
                    let behind = |placed: Run| placed.shifted_by(0, begin.units());
                    run.place_within(begin)
                        .or_else(|| run.place_within(rest).map(behind))
                };
                let [first, second] = [place(first)?, place(second)?];
                Some(match first.followed_by(second) {
                    Some(both) => [both, Run::default()],
                    None => [first, second],
                })
            }
        }
    }
}

/// One of the call's buffers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    /// The memory that contains it: its own, or in place the other buffer's.
    pub(crate) home: Buffer,
    /// Its start in that memory.
    pub(crate) base: u64,
    pub(crate) room: Room,
}

/// The layout of one rank's buffers in its memory.
///
/// In-place calls differ from others only here: the missing buffer is inside the other one.
#[derive(Clone, Debug)]
pub struct Layout {
    vector: Vector,
    /// That of the input, if it is divided in another way: in an alltoallv a rank sends other lengths than it receives.
    input_vector: Option<Vector>,
    input: Option<Region>,
    output: Option<Region>,
    scratch: Vec<Room>,
    /// Whether the output holds the rank's contribution, as on the root of a broadcast: it is an input to MPI.
    output_is_input: bool,
}

/// A piece of memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The buffer that has the memory.
    pub memory: Buffer,
    /// The units, in this order; the second run is empty unless the span wraps around.
    pub runs: [Run; 2],
}

impl Place {
    /// The number of units.
    pub fn units(&self) -> u64 {
        self.runs.iter().map(|run| run.units()).sum()
    }

    /// The units, piece by piece.
    pub fn pieces(&self) -> impl Iterator<Item = Range<u64>> + use<> {
        self.runs.into_iter().flat_map(Run::pieces)
    }

    /// Whether two places have units in common, as [`Run::overlaps`] determines.
    pub fn overlaps(&self, other: &Self) -> bool {
        let meets = |run: &Run| other.runs.iter().any(|theirs| run.overlaps(*theirs));
        self.memory == other.memory && self.runs.iter().any(meets)
    }

    /// Whether the units are contiguous.
    pub(crate) fn is_one_piece(&self) -> bool {
        self.runs[0].count <= 1 && self.runs[1].is_empty()
    }

    /// Whether it holds no units.
    pub fn is_empty(&self) -> bool {
        self.units() == 0
    }
}

impl Layout {
    pub(crate) fn new(
        (input_vector, vector): (Option<Vector>, Vector),
        [input, output]: [Option<Region>; 2],
        scratch: Vec<Room>,
        output_is_input: bool,
    ) -> Self {
        Self {
            vector,
            input_vector,
            input,
            output,
            scratch,
            output_is_input,
        }
    }

    /// The vector of which a buffer is a piece.
    fn vector_of(&self, buffer: Buffer) -> &Vector {
        match (buffer, &self.input_vector) {
            (Buffer::Input, Some(vector)) => vector,
            _ => &self.vector,
        }
    }

    pub(crate) fn buffer_region(&self, buffer: Buffer) -> Option<Region> {
        match buffer {
            Buffer::Input => self.input,
            Buffer::Output => self.output,
            Buffer::Scratch(index) => {
                let room = *self.scratch.get(usize::from(index))?;
                Some(Region {
                    home: buffer,
                    base: 0,
                    room,
                })
            }
        }
    }

    /// The scratch buffers that the rank needs.
    pub fn scratch_rooms(&self) -> &[Room] {
        &self.scratch
    }

    /// The number of units in a memory; 0 if it is absent or inside another one.
    pub fn capacity(&self, memory: Buffer) -> u64 {
        let buffers: &[Buffer] = match memory {
            Buffer::Scratch(_) => &[memory],
            Buffer::Input | Buffer::Output => &[Buffer::Input, Buffer::Output],
        };
        let ends = buffers.iter().filter_map(|buffer| {
            let region = self.buffer_region(*buffer).filter(|r| r.home == memory)?;
            Some(region.base + region.room.capacity(self.vector_of(*buffer)))
        });
        ends.max().unwrap_or(0)
    }

    /// Whether a program may write the buffer. What is an input to MPI may be in memory that cannot be written.
    pub fn may_write(&self, buffer: Buffer) -> bool {
        let is_input = match buffer {
            Buffer::Input => true,
            Buffer::Output => self.output_is_input,
            Buffer::Scratch(_) => false,
        };
        !is_input && self.buffer_region(buffer).is_some_and(|r| r.home == buffer)
    }

    /// The place of a span; `None` if its buffer is absent or does not contain it.
    pub fn locate(&self, span: &Span) -> Option<Place> {
        // By reference, because copying a region costs more than the rest.
        let (memory, base, room) = match span.buffer {
            Buffer::Scratch(index) => (span.buffer, 0, self.scratch.get(usize::from(index))?),
            buffer => {
                let region = match buffer {
                    Buffer::Input => self.input.as_ref()?,
                    _ => self.output.as_ref()?,
                };
                (region.home, region.base, &region.room)
            }
        };
        let runs = room.locate(span, self.vector_of(span.buffer))?;
        Some(Place {
            memory,
            runs: runs.map(|run| run.shifted_by(0, base)),
        })
    }

    /// The units of the vector in a buffer, in the buffer's order, and their places.
    pub(crate) fn vector_units(&self, buffer: Buffer) -> Option<(Range<u64>, Range<u64>)> {
        let Region { base, room, .. } = self.buffer_region(buffer)?;
        let Room::Blocks { partition, blocks } = room else {
            return None;
        };
        let [units, _] = self.vector_of(buffer).block_pieces(partition, blocks)?;
        let end = base + range_length(&units);
        Some((units, base..end))
    }

    /// The start of a rank's part of the vector of which a buffer is a piece.
    pub(crate) fn part_start(&self, buffer: Buffer, rank: Rank) -> u64 {
        self.vector_of(buffer).part_start(rank.into())
    }

    /// The rank to whose part of the output's vector a unit belongs.
    pub(crate) fn part_owner(&self, unit: u64) -> Rank {
        let (mut low, mut high) = (0, self.vector.ranks);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.vector.part_start(middle.into()) <= unit {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }
}

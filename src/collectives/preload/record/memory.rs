//! The memory that recordings are in: a region for each rank, in a segment that the ranks of a node share.
//!
//! Each region has one writer, its rank, and is read by the rank that writes the node's profile. All fields are atomic
//! and are read and written without order: a reader may miss the last call, but sees no torn number. When samples are
//! removed, an odd number in [`Region::edition`] tells readers to leave them.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use channel::SharedSegment;
use profile::{CommunicatorClass, MadeBy};
use vocabulary::RankOrder;

/// The most classes of communicators of one rank.
pub(super) const CLASSES: usize = 63;
/// The number of a class for communicators for which there was no place.
pub(super) const OTHER_CLASS: u8 = CLASSES as u8;
/// The places for rows. The first one is for calls that find no place.
pub(super) const ROWS: usize = 1024;
/// The most samples of one rank.
pub(super) const SAMPLES: usize = 2048;

/// The memory before the first region.
const HEADER_BYTES: usize = 4096;

/// A number that one thread at a time writes.
#[derive(Debug)]
#[repr(transparent)]
pub(super) struct Number(AtomicU64);

impl Number {
    #[inline(always)]
    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(super) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Adds to it. Only its writer may do so.
    #[inline(always)]
    pub(super) fn increase(&self, value: u64) {
        self.set(self.get().wrapping_add(value));
    }
}

/// A class of communicators in two words.
#[derive(Debug)]
#[repr(C)]
pub(super) struct ClassRecord {
    /// The number of ranks, and that of nodes in the upper half; 0 nodes are not known.
    ranks_and_nodes: Number,
    /// The number of ranks on each node, 0 if it varies; above it the order and how it was made.
    more: Number,
}

/// The numbers of orders of ranks.
const ORDERS: [RankOrder; 4] = [
    RankOrder::Block,
    RankOrder::Cyclic,
    RankOrder::Other,
    RankOrder::Unknown,
];

impl ClassRecord {
    pub(super) fn store(&self, class: &CommunicatorClass) {
        let order = ORDERS.iter().position(|order| *order == class.order);
        let made_by = MadeBy::ALL.iter().position(|way| *way == class.made_by);
        let (order, made_by) = (order.unwrap_or(0) as u64, made_by.unwrap_or(0) as u64);
        let nodes = u64::from(class.nodes.unwrap_or(0));
        self.ranks_and_nodes
            .set(u64::from(class.ranks) | nodes << 32);
        let ppn = u64::from(class.ppn.unwrap_or(0));
        self.more.set(ppn | order << 32 | made_by << 40);
    }

    pub(super) fn load(&self) -> CommunicatorClass {
        let (first, second) = (self.ranks_and_nodes.get(), self.more.get());
        let lower = |word: u64| word as u32;
        let present = |number: u32| (number > 0).then_some(number);
        let byte = |place: u32| (second >> place & 0xff) as usize;
        CommunicatorClass {
            ranks: lower(first),
            nodes: present(lower(first >> 32)),
            ppn: present(lower(second)),
            order: ORDERS.get(byte(32)).copied().unwrap_or_default(),
            made_by: MadeBy::ALL
                .get(byte(40))
                .copied()
                .unwrap_or(MadeBy::Unknown),
        }
    }
}

/// The calls of one shape, in a line of the cache.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Row {
    /// The packed shape; 0 in an empty row.
    pub(super) key: Number,
    pub(super) calls: Number,
    pub(super) nanoseconds: Number,
    pub(super) longest: Number,
    pub(super) bytes: Number,
}

/// The arrival of a rank at one call of a communicator.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Sample {
    /// A number of the call that is the same on all ranks, and which other calls have not.
    pub(super) call: Number,
    /// The time of the node's clock.
    pub(super) arrival: Number,
    pub(super) nanoseconds: Number,
    /// The row, and the number of the communicator's ranks in the upper half.
    pub(super) row_and_ranks: Number,
}

/// A sample that has been read.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadSample {
    pub(super) call: u64,
    pub(super) arrival: u64,
    pub(super) nanoseconds: u64,
    pub(super) row: usize,
    pub(super) ranks: u32,
}

impl Sample {
    pub(super) fn store(&self, sample: &ReadSample) {
        self.call.set(sample.call);
        self.arrival.set(sample.arrival);
        self.nanoseconds.set(sample.nanoseconds);
        self.row_and_ranks
            .set(sample.row as u64 | u64::from(sample.ranks) << 32);
    }

    pub(super) fn load(&self) -> ReadSample {
        let row_and_ranks = self.row_and_ranks.get();
        ReadSample {
            call: self.call.get(),
            arrival: self.arrival.get(),
            nanoseconds: self.nanoseconds.get(),
            row: (row_and_ranks as u32) as usize,
            ranks: (row_and_ranks >> 32) as u32,
        }
    }
}

/// What one rank has recorded. A region of zeros is empty.
#[derive(Debug)]
#[repr(C, align(4096))]
pub(super) struct Region {
    /// The time of the node's clock at which the rank started; 0 before.
    pub(super) started: Number,
    /// The time at the end of its last call, or at its end.
    pub(super) seen: Number,
    pub(super) class_count: Number,
    /// Odd while samples are removed.
    pub(super) edition: Number,
    pub(super) sample_count: Number,
    pub(super) classes: [ClassRecord; CLASSES],
    pub(super) rows: [Row; ROWS],
    pub(super) samples: [Sample; SAMPLES],
}

impl Region {
    /// The samples; none while some are removed.
    pub(super) fn read_samples(&self) -> Vec<ReadSample> {
        let before = self.edition.get();
        std::sync::atomic::fence(Ordering::Acquire);
        let count = (self.sample_count.get() as usize).min(SAMPLES);
        let samples = self.samples[..count].iter().map(Sample::load).collect();
        std::sync::atomic::fence(Ordering::Acquire);
        if before.is_multiple_of(2) && self.edition.get() == before {
            samples
        } else {
            Vec::new()
        }
    }

    /// Keeps the samples for which a condition holds, and returns their number.
    pub(super) fn retain_samples(&self, is_kept: impl Fn(&ReadSample) -> bool) {
        self.edition.increase(1);
        std::sync::atomic::fence(Ordering::Release);
        let count = (self.sample_count.get() as usize).min(SAMPLES);
        let mut kept = 0;
        for place in 0..count {
            let sample = self.samples[place].load();
            if is_kept(&sample) {
                self.samples[kept].store(&sample);
                kept += 1;
            }
        }
        self.sample_count.set(kept as u64);
        std::sync::atomic::fence(Ordering::Release);
        self.edition.increase(1);
    }
}

/// The regions of the ranks that share a segment.
#[derive(Debug)]
pub(super) struct Regions {
    segment: SharedSegment,
    count: usize,
}

impl Regions {
    /// The size of a segment for some ranks.
    pub(super) const fn bytes(count: usize) -> usize {
        HEADER_BYTES + count * size_of::<Region>()
    }

    /// The regions in a segment of this size.
    pub(super) fn new(segment: SharedSegment, count: usize) -> Self {
        Self { segment, count }
    }

    /// Reserves the memory of a rank's region, and that before the first one.
    pub(super) fn reserve(&self, place: usize) -> Result<(), channel::SegmentError> {
        self.segment.reserve_part(0..HEADER_BYTES)?;
        let start = Self::bytes(place);
        self.segment
            .reserve_part(start..start + size_of::<Region>())
    }

    /// Lets no other process open the segment.
    pub(super) fn close_file(&mut self) {
        self.segment.close_file();
    }

    /// The time of the node's clock at which the node's profile was last written.
    pub(super) fn written(&self) -> &AtomicU64 {
        let (memory, _) = self.segment.memory_range();
        // SAFETY: the segment has at least the header, whose start is aligned to a page; only atomic numbers are there.
        unsafe { memory.cast().as_ref() }
    }

    /// A region.
    pub(super) fn region(&self, place: usize) -> &Region {
        let (memory, bytes) = self.segment.memory_range();
        assert!(place < self.count && Self::bytes(place + 1) <= bytes);
        // SAFETY: the segment has room for the region, which begins at a page and has only atomic numbers, for which zeros
        // are valid.
        unsafe {
            let region: NonNull<Region> = memory.add(Self::bytes(place)).cast();
            region.as_ref()
        }
    }

    /// All regions.
    pub(super) fn iterate(&self) -> impl Iterator<Item = &Region> {
        (0..self.count).map(|place| self.region(place))
    }
}

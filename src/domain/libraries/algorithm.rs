//! Properties of a library's own algorithms that the library does not report.

use schedule::Collective;

/// One of a library's own algorithms.
#[derive(Clone, Copy, Debug)]
pub struct LibraryAlgorithm {
    /// The collective.
    pub collective: Collective,
    /// Its name in the library.
    pub id: &'static str,
    /// Whether it is right for operators that do not commute: it combines in rank order, or leaves such operators to
    /// another algorithm that does.
    pub is_ordered: bool,
    /// Whether it leaves operators that do not commute to another algorithm.
    pub falls_through: bool,
    /// Whether it takes a segment size.
    pub takes_segments: bool,
    /// Whether it takes a fanout.
    pub takes_fanout: bool,
    /// Whether it takes a number of requests, and has all of them under way without one.
    pub takes_requests: bool,
    /// The id of our algorithm of the same collective that sends the same messages.
    pub equivalent: Option<&'static str>,
    /// The radix of our algorithm with which it does, if it takes one.
    pub radix: u32,
    /// The most requests of our algorithm with which it does, if ours takes their number and it does not.
    pub max_requests: u32,
}

/// Flags of rows, combined with `|`.
pub(crate) const ORDERED: u8 = 1;
pub(crate) const SEGMENTS: u8 = 2;
pub(crate) const FANOUT: u8 = 4;
/// Our algorithm of the same id is equivalent.
pub(crate) const SAME: u8 = 8;
/// Right for operators that do not commute, since another algorithm runs for them.
pub(crate) const REPLACED: u8 = ORDERED | 16;
/// Our algorithm is equivalent with radix 2.
pub(crate) const BINARY: u8 = 32;
pub(crate) const REQUESTS: u8 = 64;

/// The radix of k-nomial trees in libraries, unless it is configured for the whole job.
const KNOMIAL_RADIX: u32 = 4;

/// A row of an algorithm; `what` are its flags.
pub(crate) const fn row_of(collective: Collective, id: &'static str, what: u8) -> LibraryAlgorithm {
    LibraryAlgorithm {
        collective,
        id,
        is_ordered: what & ORDERED != 0,
        falls_through: what & REPLACED == REPLACED,
        takes_segments: what & SEGMENTS != 0,
        takes_fanout: what & FANOUT != 0,
        takes_requests: what & REQUESTS != 0,
        equivalent: if what & SAME != 0 { Some(id) } else { None },
        radix: if what & BINARY != 0 { 2 } else { KNOMIAL_RADIX },
        max_requests: u32::MAX,
    }
}

/// A row of an algorithm that has another id among ours.
pub(crate) const fn row_like(
    ours: &'static str,
    collective: Collective,
    id: &'static str,
    what: u8,
) -> LibraryAlgorithm {
    let mut row = row_of(collective, id, what);
    row.equivalent = Some(ours);
    row
}

impl LibraryAlgorithm {
    /// The row of an algorithm that has up to this many requests of each kind under way.
    pub(crate) const fn with_max_requests(self, max_requests: u32) -> Self {
        Self {
            max_requests,
            ..self
        }
    }
}

/// The largest power of two that is at most `ranks`.
pub(crate) fn power_below(ranks: u64) -> u64 {
    1 << ranks.max(1).ilog2()
}

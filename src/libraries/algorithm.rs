//! What a library does not tell about one of its own algorithms.

use schedule::Collective;

/// One of a library's own algorithms.
#[derive(Clone, Copy, Debug)]
pub struct LibraryAlgorithm {
    /// The collective.
    pub collective: Collective,
    /// The library's name for it.
    pub id: &'static str,
    /// Whether it is right for operators that do not commute: it combines in the order of ranks, or leaves
    /// such operators to another algorithm that does.
    pub is_ordered: bool,
    /// Whether it leaves operators that do not commute to another algorithm.
    pub falls_through: bool,
    /// Whether a segment size reaches it.
    pub takes_segments: bool,
    /// Whether a fanout reaches it.
    pub takes_fanout: bool,
    /// The id of our algorithm of the same collective that sends the same messages.
    pub twin: Option<&'static str>,
}

/// What rows say, put together with `|`.
pub(crate) const ORDERED: u8 = 1;
pub(crate) const SEGMENTS: u8 = 2;
pub(crate) const FANOUT: u8 = 4;
/// Our algorithm of the same id is the twin.
pub(crate) const SAME: u8 = 8;
/// Right for operators that do not commute, since another algorithm runs for these.
pub(crate) const REPLACED: u8 = ORDERED | 16;

/// A row.
pub(crate) const fn of(collective: Collective, id: &'static str, what: u8) -> LibraryAlgorithm {
    LibraryAlgorithm {
        collective,
        id,
        is_ordered: what & ORDERED != 0,
        falls_through: what & REPLACED == REPLACED,
        takes_segments: what & SEGMENTS != 0,
        takes_fanout: what & FANOUT != 0,
        twin: if what & SAME != 0 { Some(id) } else { None },
    }
}

/// A row of an algorithm that we call otherwise.
pub(crate) const fn like(
    ours: &'static str,
    collective: Collective,
    id: &'static str,
    what: u8,
) -> LibraryAlgorithm {
    let mut row = of(collective, id, what);
    row.twin = Some(ours);
    row
}

/// The largest power of two that is not above.
pub(crate) fn power_below(ranks: u64) -> u64 {
    1 << ranks.max(1).ilog2()
}

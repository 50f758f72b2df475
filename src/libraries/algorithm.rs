//! What a library does not tell about one of its own algorithms.

use schedule::Collective;

/// One of a library's own algorithms.
#[derive(Clone, Copy, Debug)]
pub struct LibraryAlgorithm {
    /// Of which collective.
    pub collective: Collective,
    /// The library's name for it.
    pub id: &'static str,
    /// The first major version that has it; 0 for all that are known.
    pub since: u32,
    /// Whether it combines in the order of ranks, or leaves operators that do not commute to another
    /// algorithm that does.
    pub is_ordered: bool,
    /// Whether a segment size reaches it.
    pub takes_segments: bool,
    /// Whether a fanout reaches it.
    pub takes_fanout: bool,
    /// The radix that it has unless somebody changes it for the whole job.
    pub radix: Option<u32>,
    /// The id of our algorithm of the same collective that sends the same messages.
    pub twin: Option<&'static str>,
}

/// An algorithm of which nothing else is known.
pub(crate) const fn of(collective: Collective, id: &'static str) -> LibraryAlgorithm {
    LibraryAlgorithm {
        collective,
        id,
        since: 0,
        is_ordered: false,
        takes_segments: false,
        takes_fanout: false,
        radix: None,
        twin: None,
    }
}

impl LibraryAlgorithm {
    pub(crate) const fn since(mut self, major: u32) -> Self {
        self.since = major;
        self
    }

    pub(crate) const fn ordered(mut self) -> Self {
        self.is_ordered = true;
        self
    }

    pub(crate) const fn segments(mut self) -> Self {
        self.takes_segments = true;
        self
    }

    pub(crate) const fn fanout(mut self) -> Self {
        self.takes_fanout = true;
        self
    }

    pub(crate) const fn radix(mut self, radix: u32) -> Self {
        self.radix = Some(radix);
        self
    }

    pub(crate) const fn like(mut self, ours: &'static str) -> Self {
        self.twin = Some(ours);
        self
    }

    /// Our algorithm of the same id sends the same messages.
    pub(crate) const fn same(self) -> Self {
        let id = self.id;
        self.like(id)
    }
}

/// The largest power of two that is not above.
pub(crate) fn power_below(ranks: u64) -> u64 {
    1 << ranks.max(1).ilog2()
}

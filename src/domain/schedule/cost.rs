//! The cost of an algorithm, in whole numbers.
//!
//! A test counts the schedules for every number of ranks from 2 to 70 and several numbers of blocks; the counts agree
//! exactly, also for trees that are not perfect, since the latency of the first block comes from a recursion over the
//! tree. An algorithm that knows nodes has no closed form of its own: the crate `model` adds up those of its phases.

/// The closed form of an algorithm's time on a given number of ranks and root 0.
///
/// `m` is the length of the call in bytes, as the collective counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cost {
    /// An algorithm that takes blocks.
    Pipelined {
        /// The constants of the lemma.
        lemma: PipelineCost,
        /// The numbers of blocks for which the constants hold exactly; for others they are off by a step or two.
        exact: Exact,
    },
    /// An algorithm with messages that the call determines: `steps alpha + moved/parts beta m + combined/parts gamma
    /// m`.
    Fixed {
        /// Messages one after the other on the critical path.
        steps: u64,
        /// Parts of the call's length that are moved one after the other.
        moved: u64,
        /// Parts of the call's length that are combined one after the other.
        combined: u64,
        /// The number of such parts in the call's length.
        parts: u64,
    },
    /// An algorithm in which every rank sends messages of the call's length at once, and receives as many: `alpha +
    /// (messages - 1) o + messages beta m`. A port starts the next message after the overhead `o`, a part of `alpha`, and
    /// the bytes; the latencies overlap.
    AtOnce {
        /// Messages that each rank sends.
        messages: u64,
    },
}

/// Numbers of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exact {
    /// All numbers from this one on.
    From(u32),
    /// Even numbers.
    Even,
    /// Odd numbers.
    Odd,
}

impl Exact {
    /// Whether a number of blocks is included.
    pub fn includes_blocks(self, blocks: u32) -> bool {
        match self {
            Self::From(first) => blocks >= first,
            Self::Even => blocks.is_multiple_of(2),
            Self::Odd => !blocks.is_multiple_of(2),
        }
    }
}

impl Cost {
    /// `steps` messages of the call's length, and `combined` combinations of the same length.
    pub const fn whole(steps: u64, combined: u64) -> Self {
        Self::Fixed {
            steps,
            moved: steps,
            combined,
            parts: 1,
        }
    }

    /// `steps` empty messages one after the other.
    pub const fn signalling(steps: u64) -> Self {
        Self::moving(steps, 0)
    }

    /// `steps` messages, which together are `moved` times as long as the call.
    pub const fn moving(steps: u64, moved: u64) -> Self {
        Self::Fixed {
            steps,
            moved,
            combined: 0,
            parts: 1,
        }
    }

    /// `steps` messages of the call's length, each combined before the next one.
    pub const fn combining(steps: u32) -> Self {
        Self::whole(steps as u64, steps as u64)
    }

    /// `steps` messages that together move all of `parts` parts of the call's length but one, `moves` times, and
    /// combine them `combinations` times.
    pub const fn of_parts(parts: u32, steps: u32, [moves, combinations]: [u64; 2]) -> Self {
        let others = parts as u64 - 1;
        Self::Fixed {
            steps: steps as u64,
            moved: moves * others,
            combined: combinations * others,
            parts: parts as u64,
        }
    }

    /// A pipeline of `c1 + c2 b` steps and `g1 + g2 b` combinations, exactly for all `b`.
    pub const fn pipelined(steps: [i64; 2], combinations: [i64; 2]) -> Self {
        Self::pipelined_where(Exact::From(1), steps, combinations)
    }

    /// The same, exactly for some numbers of blocks.
    pub const fn pipelined_where(exact: Exact, [c1, c2]: [i64; 2], [g1, g2]: [i64; 2]) -> Self {
        Self::Pipelined {
            lemma: PipelineCost { c1, c2, g1, g2 },
            exact,
        }
    }
}

/// The constants of the pipelining lemma for one algorithm on a given number of ranks.
///
/// With `b` equal blocks of an `m`-byte vector the algorithm takes
/// `(c1 + c2 b)(alpha + beta m/b) + (g1 + g2 b) gamma m/b`: `c1 + c2 b` communication steps one
/// after the other on the critical path and `g1 + g2 b` combinations (the pipelining lemma of Träff 2021).
/// Negative `c1` and `g1` occur where the pipeline fills quickly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PipelineCost {
    /// Communication steps that do not depend on the number of blocks.
    pub c1: i64,
    /// Communication steps a block.
    pub c2: i64,
    /// Combinations that do not depend on the number of blocks.
    pub g1: i64,
    /// Combinations a block.
    pub g2: i64,
}

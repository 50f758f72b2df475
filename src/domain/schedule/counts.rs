//! The lengths of parts and of blocks, where they differ, and which rank knows them.
//!
//! In a `reduce_scatter` and an allgatherv every rank knows the lengths of all parts. In a gatherv and a scatterv the
//! root does, and every other rank knows that of its own part. In an alltoallv or alltoallw a rank knows what it sends
//! to each rank and what it receives from each: its row and its column of the matrix of blocks.
//!
//! In some algorithms of gatherv and scatterv ranks pass on data of others. There every rank but the root is told, before
//! any data, how much its children in a tree and all ranks below them have together ([`SizeExchange`]).
//!
//! So no program depends on lengths. Programs of all these collectives name whole parts and blocks, and a rank can
//! resolve every part that its own program names from what it knows ([`OwnCounts`]). The two ends of a message name parts
//! of the same length, so a rank leaves out messages that it knows to be empty, as the other end does.

use std::sync::Arc;

use crate::Rank;
use crate::vector::PartSizes;

/// The distribution of a call's data over its parts, or over the blocks from each rank to each.
///
/// Every distribution of blocks is symmetric, as calls in place require: the block from one rank to another is as long
/// as the one in the other direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Distribution {
    /// Parts and blocks are as even as possible.
    #[default]
    Uniform,
    /// A few get most: one of eight is 21 times as long as each other, and these have three quarters of all data.
    Skewed,
    /// One of four has data, the others are empty.
    Sparse,
    /// One rank dominates: half of all data is the part of rank 0, or blocks from it and to it.
    Dominated,
}

impl Distribution {
    /// All distributions.
    pub const ALL: [Self; 4] = [Self::Uniform, Self::Skewed, Self::Sparse, Self::Dominated];

    /// The name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Skewed => "skewed",
            Self::Sparse => "sparse",
            Self::Dominated => "dominated",
        }
    }

    /// The distribution with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    /// Whether it is [`Self::Uniform`].
    pub fn is_uniform(&self) -> bool {
        *self == Self::Uniform
    }

    /// The length of each rank's part, of `units` in all.
    pub fn part_counts(self, units: u64, ranks: u32) -> Vec<u64> {
        let weight = |rank: Rank| match self {
            Self::Uniform => 1,
            Self::Skewed if rank.is_multiple_of(8) => 21,
            Self::Skewed => 1,
            Self::Sparse => u128::from(rank.is_multiple_of(4)),
            Self::Dominated if rank == 0 => u128::from(ranks.max(2)) - 1,
            Self::Dominated => 1,
        };
        let all: u128 = (0..ranks).map(weight).sum();
        let (mut before, mut start) = (0, 0);
        let count = |rank| {
            before += weight(rank);
            let end = (u128::from(units) * before / all) as u64;
            let count = end - start;
            start = end;
            count
        };
        (0..ranks).map(count).collect()
    }

    /// The length of the block from one rank to another if blocks have about `mean` units on average; saturates instead of
    /// overflowing.
    pub fn block_count(self, mean: u64, ranks: u32, from: Rank, to: Rank) -> u64 {
        let turn = u64::from(from) + u64::from(to);
        let share = |times: u128, of: u128| {
            u64::try_from(u128::from(mean) * times / of.max(1)).unwrap_or(u64::MAX)
        };
        let all = u128::from(ranks);
        match self {
            Self::Uniform => mean,
            Self::Skewed if turn.is_multiple_of(8) => share(6, 1),
            Self::Skewed => share(2, 7),
            Self::Sparse if turn.is_multiple_of(4) => share(4, 1),
            Self::Sparse => 0,
            Self::Dominated if ranks < 2 => mean,
            // The blocks of a row and a column.
            Self::Dominated if from == 0 || to == 0 => share(all * all, 2 * (2 * all - 1)),
            Self::Dominated => share(all * all, 2 * (all - 1) * (all - 1)),
        }
    }

    /// The most units that any rank sends, or receives, if blocks have about `mean` units on average; saturates instead
    /// of overflowing.
    pub fn longest_row(self, mean: u64, ranks: u32) -> u64 {
        // The rows of ranks with the same rest by 8 are alike, apart from that of rank 0.
        let row = |from: Rank| {
            let blocks = (0..ranks).map(|to| self.block_count(mean, ranks, from, to));
            blocks.fold(0, u64::saturating_add)
        };
        (0..ranks.min(9)).map(row).max().unwrap_or(0)
    }
}

/// The messages in which a rank is told sizes before any data, and tells its own.
///
/// All ranks but the root take part, which knows all sizes. In a schedule they are signals in its first rounds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SizeExchange {
    /// The ranks that tell this one their sizes, in the order of their messages.
    pub from: Vec<Rank>,
    /// The rank that is told the sum of these and of this rank's own size.
    pub to: Option<Rank>,
}

/// What one rank knows of the lengths in a call.
#[derive(Clone, Copy, Debug)]
pub enum OwnCounts<'a> {
    /// The parts of all ranks.
    Parts(&'a [u64]),
    /// Only its own part, as a rank that is not the root of a gatherv or a scatterv.
    Part(u64),
    /// Its own part and, for each of some ranks, what that rank told: the parts of the ranks in its subtree together.
    Told {
        /// The rank's own part.
        own: u64,
        /// The ranks with what they told.
        others: &'a [(Rank, u64)],
    },
    /// The blocks of an alltoallv or alltoallw.
    Blocks {
        /// The block that it sends to each rank; in place the same as `received`.
        sent: &'a [u64],
        /// The block that it receives from each rank.
        received: &'a [u64],
    },
}

/// The lengths of all blocks of a call: a block from each rank to each.
#[derive(Clone, Debug)]
pub(crate) enum BlockCounts {
    /// What rank 0 sends to each rank, then what rank 1 sends, and so on.
    Listed(Arc<[u64]>),
    /// Computed, since a list would be long on many ranks.
    Distributed {
        distribution: Distribution,
        mean: u64,
    },
}

impl BlockCounts {
    /// The length of the block from one rank to another.
    pub(crate) fn count(&self, ranks: u32, from: Rank, to: Rank) -> u64 {
        match self {
            Self::Listed(all) => all[from as usize * ranks as usize + to as usize],
            Self::Distributed { distribution, mean } => {
                distribution.block_count(*mean, ranks, from, to)
            }
        }
    }

    /// The blocks that a rank sends; `None` if their sum overflows.
    pub(crate) fn sent_by(&self, ranks: u32, rank: Rank) -> Option<PartSizes> {
        PartSizes::new((0..ranks).map(|to| self.count(ranks, rank, to)))
    }

    /// The blocks that a rank receives; `None` if their sum overflows.
    pub(crate) fn received_by(&self, ranks: u32, rank: Rank) -> Option<PartSizes> {
        PartSizes::new((0..ranks).map(|from| self.count(ranks, from, rank)))
    }

    /// Whether every block is as long as the one in the other direction.
    pub(crate) fn are_symmetric(&self, ranks: u32) -> bool {
        match self {
            Self::Listed(_) => (0..ranks).all(|one| {
                (0..one).all(|other| self.count(ranks, one, other) == self.count(ranks, other, one))
            }),
            Self::Distributed { .. } => true,
        }
    }

    /// At least the units that any rank sends or receives in all; `None` if that overflows.
    pub(crate) fn most_units(&self, ranks: u32) -> Option<u64> {
        match self {
            Self::Listed(_) => {
                let rows = (0..ranks).map(|rank| self.sent_by(ranks, rank));
                let columns = (0..ranks).map(|rank| self.received_by(ranks, rank));
                let totals = rows.chain(columns).map(|sizes| Some(sizes?.total_units()));
                totals.collect::<Option<Vec<u64>>>()?.into_iter().max()
            }
            // In every distribution one of these is the longest block.
            Self::Distributed { .. } => {
                let longest = self.count(ranks, 0, 0).max(self.count(ranks, 1, 1));
                longest.checked_mul(ranks.into())
            }
        }
    }
}

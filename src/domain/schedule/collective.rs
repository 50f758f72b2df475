//! The collectives, named and shaped as the MPI standard names them.
//!
//! A collective is its buffers and its pre- and post-condition: what each buffer holds before and after a call. Both
//! are stated here alone, and the verifier compares every algorithm with them.
//!
//! Every stage knows all collectives of [`Collective::ALL`]: the seventeen blocking ones of MPI 4.0, chapter 6. A barrier has
//! no data: one cell of 0 bytes.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::layout::Region;
use crate::vector::Vector;
use crate::{Buffer, Rank, Room, Shape};

/// A collective operation of MPI (MPI 4.0, chapter 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Collective {
    /// `MPI_Bcast`: the root's vector reaches every rank.
    Bcast,
    /// `MPI_Reduce`: the combination of all ranks' vectors, in rank order, at the root.
    Reduce,
    /// `MPI_Allreduce`: the combination of all ranks' vectors, in rank order, everywhere.
    Allreduce,
    /// `MPI_Gather`: all ranks' contributions, in rank order, at the root.
    Gather,
    /// `MPI_Scatter`: every rank gets its part of the root's vector.
    Scatter,
    /// `MPI_Allgather`: all ranks' contributions, in rank order, everywhere.
    Allgather,
    /// `MPI_Reduce_scatter`: every rank gets its part of the combination; parts may differ in size.
    ReduceScatter,
    /// `MPI_Reduce_scatter_block`: the same with parts of one size.
    ReduceScatterBlock,
    /// `MPI_Alltoall`: every rank gives each rank a block. The vector is what one rank gives: its
    /// parts are the blocks.
    Alltoall,
    /// `MPI_Barrier`: no rank continues before all ranks have called it. There is no data: the length is 0.
    Barrier,
    /// `MPI_Scan`: rank r gets the combination of the vectors of ranks 0 to r, in rank order.
    Scan,
    /// `MPI_Exscan`: rank r gets the combination of the vectors of ranks 0 to r - 1, in rank order; rank 0 gets nothing.
    Exscan,
    /// `MPI_Alltoallv`: an alltoall whose blocks may differ in length.
    Alltoallv,
    /// `MPI_Alltoallw`: the same with a datatype for each block.
    Alltoallw,
    /// `MPI_Allgatherv`: an allgather whose contributions may differ in length.
    Allgatherv,
    /// `MPI_Gatherv`: a gather whose contributions may differ in length.
    Gatherv,
    /// `MPI_Scatterv`: a scatter whose parts may differ in length.
    Scatterv,
}

impl Collective {
    /// Every collective, in the order of files and reports.
    pub const ALL: [Collective; 17] = [
        Self::Bcast,
        Self::Reduce,
        Self::Allreduce,
        Self::Gather,
        Self::Scatter,
        Self::Allgather,
        Self::ReduceScatter,
        Self::ReduceScatterBlock,
        Self::Alltoall,
        Self::Barrier,
        Self::Scan,
        Self::Exscan,
        Self::Alltoallv,
        Self::Alltoallw,
        Self::Allgatherv,
        Self::Gatherv,
        Self::Scatterv,
    ];

    /// The name used in files and on the command line: MPI's, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bcast => "bcast",
            Self::Reduce => "reduce",
            Self::Allreduce => "allreduce",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::Allgather => "allgather",
            Self::ReduceScatter => "reduce_scatter",
            Self::ReduceScatterBlock => "reduce_scatter_block",
            Self::Alltoall => "alltoall",
            Self::Barrier => "barrier",
            Self::Scan => "scan",
            Self::Exscan => "exscan",
            Self::Alltoallv => "alltoallv",
            Self::Alltoallw => "alltoallw",
            Self::Allgatherv => "allgatherv",
            Self::Gatherv => "gatherv",
            Self::Scatterv => "scatterv",
        }
    }

    /// The collective with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    /// Whether a call moves data. If not, its length is 0 bytes.
    pub const fn has_data(self) -> bool {
        !matches!(self, Self::Barrier)
    }

    /// Whether one rank, the root, is special.
    pub const fn is_rooted(self) -> bool {
        matches!(
            self,
            Self::Bcast
                | Self::Reduce
                | Self::Gather
                | Self::Scatter
                | Self::Gatherv
                | Self::Scatterv
        )
    }

    /// Whether only the root gets a result.
    pub const fn has_result_only_at_root(self) -> bool {
        matches!(self, Self::Reduce | Self::Gather | Self::Gatherv)
    }

    /// Whether a rank's result is its part of the vector.
    pub const fn has_part_only(self) -> bool {
        matches!(
            self,
            Self::Scatter | Self::Scatterv | Self::ReduceScatter | Self::ReduceScatterBlock
        )
    }

    /// Whether the collective combines data with an operator.
    pub const fn is_reduction(self) -> bool {
        matches!(
            self,
            Self::Reduce
                | Self::Allreduce
                | Self::ReduceScatter
                | Self::ReduceScatterBlock
                | Self::Scan
                | Self::Exscan
        )
    }

    /// Whether a rank's result combines only the contributions of ranks up to its own, so that every rank has a result of
    /// its own.
    pub const fn is_prefix_reduction(self) -> bool {
        matches!(self, Self::Scan | Self::Exscan)
    }

    /// Whether `MPI_IN_PLACE` is allowed.
    pub const fn allows_in_place(self) -> bool {
        !matches!(self, Self::Bcast | Self::Barrier)
    }

    /// Whether a call's length is that of one rank's part of the vector: its contribution to a
    /// gather or an allgather, its result of a scatter or a `reduce_scatter_block`, the block that
    /// it gives to one rank in an alltoall, on average in an alltoallv. Otherwise it is that of the whole vector.
    pub const fn is_sized_by_part(self) -> bool {
        matches!(
            self,
            Self::Gather
                | Self::Scatter
                | Self::Allgather
                | Self::ReduceScatterBlock
                | Self::Alltoall
                | Self::Alltoallv
                | Self::Alltoallw
        )
    }

    /// Whether the parts of the vector may differ in length, so that a call has a count for each rank.
    pub const fn has_part_counts(self) -> bool {
        matches!(
            self,
            Self::ReduceScatter | Self::Allgatherv | Self::Gatherv | Self::Scatterv
        )
    }

    /// Whether the blocks from each rank to each may differ in length, so that a call has a count for each pair of ranks.
    pub const fn has_block_counts(self) -> bool {
        matches!(self, Self::Alltoallv | Self::Alltoallw)
    }

    /// Whether it is the irregular form of another collective, so that campaigns measure it with
    /// [distributions](crate::Distribution) of the data.
    pub const fn is_irregular(self) -> bool {
        matches!(
            self,
            Self::Alltoallv | Self::Alltoallw | Self::Allgatherv | Self::Gatherv | Self::Scatterv
        )
    }

    /// Whether a decision may depend on the size of the call. Without data there is no size, and where ranks know only
    /// their own counts they cannot agree on one: a table has one rule for a communicator.
    pub const fn decides_by_size(self) -> bool {
        !matches!(
            self,
            Self::Barrier | Self::Alltoallv | Self::Alltoallw | Self::Gatherv | Self::Scatterv
        )
    }
}

/// The ranks whose contributions a buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Undefined values, which must not be read.
    Undefined,
    /// The combination, in rank order, of the contributions of these ranks, both included.
    Ranks(Rank, Rank),
    /// The contribution of each rank in its part of the vector.
    Parts,
    /// In each rank's part of the vector, what that rank has for this one: this rank's part of that rank's contribution.
    PartsForRank,
}

impl Collective {
    /// The pre-condition: the buffer that holds a rank's contribution, and what it holds.
    pub fn precondition(self, shape: &Shape, rank: Rank) -> (Buffer, Held) {
        let has_data = match self {
            Self::Bcast | Self::Scatter | Self::Scatterv => rank == shape.root,
            _ => self.has_data(),
        };
        let held = if has_data {
            Held::Ranks(rank, rank)
        } else {
            Held::Undefined
        };
        match self {
            Self::Bcast => (Buffer::Output, held),
            _ => (Buffer::Input, held),
        }
    }

    /// The post-condition: what a rank's output must hold at the end.
    pub fn postcondition(self, shape: &Shape, rank: Rank) -> Held {
        let Shape { ranks, root, .. } = *shape;
        match self {
            _ if self.has_result_only_at_root() && rank != root => Held::Undefined,
            Self::Bcast | Self::Scatter | Self::Scatterv => Held::Ranks(root, root),
            Self::Gather | Self::Gatherv | Self::Allgather | Self::Allgatherv => Held::Parts,
            Self::Alltoall | Self::Alltoallv | Self::Alltoallw => Held::PartsForRank,
            Self::Barrier => Held::Undefined,
            Self::Scan => Held::Ranks(0, rank),
            Self::Exscan => rank
                .checked_sub(1)
                .map_or(Held::Undefined, |last| Held::Ranks(0, last)),
            _ => Held::Ranks(0, ranks - 1),
        }
    }

    /// The places of a rank's input and output; `None` for those that the rank does not have.
    pub(crate) fn buffer_regions(
        self,
        shape: &Shape,
        vector: &Vector,
        rank: Rank,
    ) -> [Option<Region>; 2] {
        let Shape { ranks, root, .. } = *shape;
        let is_root = rank == root;
        let part = Room::part(ranks, rank);
        let at_part = vector.part_start(rank.into());
        let inside = |home, base, room| Some(Region { home, base, room });
        let own = |home, room| inside(home, 0, room);
        let whole = |home| own(home, Room::WHOLE);
        let (input, output) = (Buffer::Input, Buffer::Output);
        match (self, shape.in_place) {
            (Self::Bcast, _) => [None, whole(output)],
            (Self::Reduce, true) if is_root => [whole(output), whole(output)],
            (Self::Reduce, _) => [whole(input), whole(output).filter(|_| is_root)],
            (
                Self::Allreduce | Self::Scan | Self::Alltoall | Self::Alltoallv | Self::Alltoallw,
                in_place,
            ) => [whole(if in_place { output } else { input }), whole(output)],
            // Rank 0 has no result: its receive buffer may be absent, and in place it must stay as it is.
            (Self::Exscan, true) => [whole(output), whole(output).filter(|_| rank > 0)],
            (Self::Exscan, false) => [whole(input), whole(output).filter(|_| rank > 0)],
            (Self::Barrier, _) => [None, None],
            (Self::Gather | Self::Gatherv, true) if is_root => {
                [inside(output, at_part, part), whole(output)]
            }
            (Self::Gather | Self::Gatherv, _) => {
                [own(input, part), whole(output).filter(|_| is_root)]
            }
            (Self::Scatter | Self::Scatterv, true) if is_root => {
                [whole(input), inside(input, at_part, part)]
            }
            (Self::Scatter | Self::Scatterv, _) => {
                [whole(input).filter(|_| is_root), own(output, part)]
            }
            (Self::Allgather | Self::Allgatherv, true) => {
                [inside(output, at_part, part), whole(output)]
            }
            (Self::Allgather | Self::Allgatherv, false) => [own(input, part), whole(output)],
            (Self::ReduceScatter | Self::ReduceScatterBlock, true) => {
                [whole(output), own(output, part)]
            }
            (Self::ReduceScatter | Self::ReduceScatterBlock, false) => {
                [whole(input), own(output, part)]
            }
        }
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The text does not name a collective.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "unknown collective `{0}`; known: {known}",
    known = Collective::ALL.map(Collective::name).join(", ")
)]
pub struct UnknownCollective(pub String);

impl FromStr for Collective {
    type Err = UnknownCollective;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::from_name(text).ok_or_else(|| UnknownCollective(text.to_owned()))
    }
}

//! The collectives, named and shaped as the MPI standard names them.

use std::fmt;
use std::str::FromStr;

use crate::{Buffer, Rank, Shape};

/// A collective operation of MPI (MPI 4.0, chapter 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Collective {
    /// `MPI_Bcast`: the root's vector reaches every rank.
    Bcast,
    /// `MPI_Reduce`: the combination of all ranks' vectors, in rank order, at the root.
    Reduce,
    /// `MPI_Allreduce`: the combination of all ranks' vectors, in rank order, everywhere.
    Allreduce,
}

impl Collective {
    /// Every collective that has algorithms.
    pub const ALL: [Collective; 3] = [Self::Bcast, Self::Reduce, Self::Allreduce];

    /// The name used in files and on the command line: MPI's, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bcast => "bcast",
            Self::Reduce => "reduce",
            Self::Allreduce => "allreduce",
        }
    }

    /// Whether one rank, the root, is special.
    pub const fn is_rooted(self) -> bool {
        matches!(self, Self::Bcast | Self::Reduce)
    }

    /// Whether no rank but the root gets a result.
    pub const fn has_result_only_at_root(self) -> bool {
        matches!(self, Self::Reduce)
    }

    /// Whether the collective combines data with an operator.
    pub const fn is_reduction(self) -> bool {
        matches!(self, Self::Reduce | Self::Allreduce)
    }
}

/// What a rank's buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// The buffer is not the algorithm's to touch.
    Absent,
    /// The buffer may be written and holds nothing yet.
    Undefined,
    /// The combination, in rank order, of the contributions of these ranks, both included.
    Ranks(Rank, Rank),
}

impl Collective {
    /// The pre-condition: what a rank's input or output holds at the start.
    pub fn before(self, shape: &Shape, rank: Rank, buffer: Buffer) -> Held {
        let own = Held::Ranks(rank, rank);
        match (self, buffer) {
            (_, Buffer::Scratch(_)) => Held::Undefined,
            (Self::Bcast, Buffer::Input) => Held::Absent,
            (Self::Bcast, Buffer::Output) if rank == shape.root => own,
            (Self::Bcast, Buffer::Output) => Held::Undefined,
            (Self::Reduce, Buffer::Output) if rank != shape.root => Held::Absent,
            (Self::Reduce | Self::Allreduce, buffer) => {
                let source = match self {
                    Self::Reduce => shape.source_of(rank),
                    _ => shape.source(),
                };
                match buffer {
                    buffer if buffer == source => own,
                    Buffer::Input => Held::Absent,
                    _ => Held::Undefined,
                }
            }
        }
    }

    /// The post-condition: what a rank's output must hold at the end.
    pub fn after(self, shape: &Shape, rank: Rank) -> Held {
        match self {
            Self::Bcast => Held::Ranks(shape.root, shape.root),
            Self::Reduce if rank != shape.root => Held::Absent,
            Self::Reduce | Self::Allreduce => Held::Ranks(0, shape.ranks - 1),
        }
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The text is not the name of a collective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownCollective(pub String);

impl fmt::Display for UnknownCollective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<_> = Collective::ALL.iter().map(|c| c.name()).collect();
        write!(
            f,
            "unknown collective `{}`; known: {}",
            self.0,
            known.join(", ")
        )
    }
}

impl std::error::Error for UnknownCollective {}

impl FromStr for Collective {
    type Err = UnknownCollective;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|c| c.name() == text)
            .ok_or_else(|| UnknownCollective(text.to_owned()))
    }
}

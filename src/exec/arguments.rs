//! The arguments of a collective as an application passes them.

use schedule::Collective;

use crate::ExecError;
use crate::handle::{DatatypeHandle, OperatorHandle};

/// Elements of a datatype.
#[derive(Clone, Copy, Debug)]
pub struct Elements {
    /// How many.
    pub count: u64,
    /// The type of the elements.
    pub datatype: DatatypeHandle,
}

impl Elements {
    /// Bytes of their data, gaps not counted.
    pub fn bytes(&self) -> Result<u64, ExecError> {
        let size = self.datatype.size() as u64;
        let bytes = self.count.checked_mul(size);
        bytes.ok_or(ExecError::TooLarge { bytes: u64::MAX })
    }
}

/// A call but for its buffers, as one rank passes it; names and meanings are those of MPI.
///
/// What MPI says to be significant only at the root is read only there, and what goes with a buffer
/// that is given as `MPI_IN_PLACE` not at all.
#[derive(Clone, Copy, Debug)]
pub enum Arguments<'a> {
    /// `MPI_Bcast`.
    Bcast {
        /// What the root gives and the others get.
        data: Elements,
        /// The root.
        root: u32,
    },
    /// `MPI_Reduce`.
    Reduce {
        /// What every rank gives.
        data: Elements,
        /// The operator.
        operator: OperatorHandle,
        /// The root.
        root: u32,
    },
    /// `MPI_Allreduce`.
    Allreduce {
        /// What every rank gives.
        data: Elements,
        /// The operator.
        operator: OperatorHandle,
    },
    /// `MPI_Gather`.
    Gather {
        /// What this rank gives.
        send: Elements,
        /// What the root gets from one rank.
        recv: Elements,
        /// The root.
        root: u32,
    },
    /// `MPI_Scatter`.
    Scatter {
        /// What the root gives to one rank.
        send: Elements,
        /// What this rank gets.
        recv: Elements,
        /// The root.
        root: u32,
    },
    /// `MPI_Allgather`.
    Allgather {
        /// What this rank gives.
        send: Elements,
        /// What it gets from one rank.
        recv: Elements,
    },
    /// `MPI_Reduce_scatter`.
    ReduceScatter {
        /// Elements of each rank's part of the result.
        counts: &'a [u64],
        /// Their type.
        datatype: DatatypeHandle,
        /// The operator.
        operator: OperatorHandle,
    },
    /// `MPI_Reduce_scatter_block`.
    ReduceScatterBlock {
        /// A rank's part of the result.
        part: Elements,
        /// The operator.
        operator: OperatorHandle,
    },
}

impl Arguments<'_> {
    /// The collective.
    pub fn collective(&self) -> Collective {
        match self {
            Self::Bcast { .. } => Collective::Bcast,
            Self::Reduce { .. } => Collective::Reduce,
            Self::Allreduce { .. } => Collective::Allreduce,
            Self::Gather { .. } => Collective::Gather,
            Self::Scatter { .. } => Collective::Scatter,
            Self::Allgather { .. } => Collective::Allgather,
            Self::ReduceScatter { .. } => Collective::ReduceScatter,
            Self::ReduceScatterBlock { .. } => Collective::ReduceScatterBlock,
        }
    }

    /// The root; 0 where there is none.
    pub fn root(&self) -> u32 {
        match *self {
            Self::Bcast { root, .. }
            | Self::Reduce { root, .. }
            | Self::Gather { root, .. }
            | Self::Scatter { root, .. } => root,
            _ => 0,
        }
    }

    /// What is combined, and how; `None` where data is only moved.
    pub fn reduction(&self) -> Option<(DatatypeHandle, OperatorHandle)> {
        match *self {
            Self::Reduce { data, operator, .. } | Self::Allreduce { data, operator } => {
                Some((data.datatype, operator))
            }
            Self::ReduceScatter {
                datatype, operator, ..
            } => Some((datatype, operator)),
            Self::ReduceScatterBlock { part, operator } => Some((part.datatype, operator)),
            _ => None,
        }
    }

    /// The length of the call in the schedule's units: elements where data is combined, bytes where
    /// it is moved.
    pub(crate) fn units(&self, is_root: bool, in_place: bool) -> Result<u64, ExecError> {
        match *self {
            Self::Bcast { data, .. } => data.bytes(),
            Self::Reduce { data, .. } | Self::Allreduce { data, .. } => Ok(data.count),
            Self::ReduceScatterBlock { part, .. } => Ok(part.count),
            Self::ReduceScatter { counts, .. } => counts
                .iter()
                .try_fold(0_u64, |sum, count| sum.checked_add(*count))
                .ok_or(ExecError::TooLarge { bytes: u64::MAX }),
            Self::Gather { send, .. } if !is_root => send.bytes(),
            Self::Scatter { recv, .. } if !is_root => recv.bytes(),
            Self::Gather { recv, .. } | Self::Allgather { recv, .. } if in_place => recv.bytes(),
            Self::Scatter { send, .. } if in_place => send.bytes(),
            Self::Gather { send, recv, .. }
            | Self::Scatter { send, recv, .. }
            | Self::Allgather { send, recv } => {
                let (bytes, received) = (send.bytes()?, recv.bytes()?);
                if bytes != received {
                    return Err(ExecError::Lengths {
                        collective: self.collective(),
                        sent: bytes,
                        received,
                    });
                }
                Ok(bytes)
            }
        }
    }
}

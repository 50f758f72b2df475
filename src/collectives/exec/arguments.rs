//! The arguments of a collective as an application passes them.

use schedule::Collective;

use crate::ExecError;
use crate::handle::{DatatypeHandle, OperatorHandle};

/// Elements of a datatype.
#[derive(Clone, Copy, Debug)]
pub struct Elements {
    /// Their number.
    pub count: u64,
    /// The type of the elements.
    pub datatype: DatatypeHandle,
}

impl Elements {
    /// The size of their data in bytes, without gaps.
    pub fn size_bytes(&self) -> Result<u64, ExecError> {
        let size = self.datatype.size() as u64;
        let bytes = self.count.checked_mul(size);
        bytes.ok_or(ExecError::TooLarge { bytes: u64::MAX })
    }
}

/// A collective's arguments on one rank except for the buffers, with MPI's names and meanings.
///
/// Arguments that are significant only at the root are read only there. Arguments that belong to a buffer passed as
/// `MPI_IN_PLACE` are not read.
#[derive(Clone, Copy, Debug)]
pub enum Arguments<'a> {
    /// `MPI_Bcast`.
    Bcast {
        /// The data that the root sends and the others receive.
        data: Elements,
        /// The root.
        root: u32,
    },
    /// `MPI_Reduce`.
    Reduce {
        /// The input of every rank.
        data: Elements,
        /// The operator.
        operator: OperatorHandle,
        /// The root.
        root: u32,
    },
    /// `MPI_Allreduce`.
    Allreduce {
        /// The input of every rank.
        data: Elements,
        /// The operator.
        operator: OperatorHandle,
    },
    /// `MPI_Gather`.
    Gather {
        /// The data that this rank sends.
        send: Elements,
        /// The data that the root receives from each rank.
        recv: Elements,
        /// The root.
        root: u32,
    },
    /// `MPI_Scatter`.
    Scatter {
        /// The data that the root sends to each rank.
        send: Elements,
        /// The data that this rank receives.
        recv: Elements,
        /// The root.
        root: u32,
    },
    /// `MPI_Allgather`.
    Allgather {
        /// The data that this rank sends.
        send: Elements,
        /// The data that it receives from each rank.
        recv: Elements,
    },
    /// `MPI_Reduce_scatter`.
    ReduceScatter {
        /// The number of elements in each rank's part of the result.
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
    /// `MPI_Alltoall`.
    Alltoall {
        /// The block that this rank sends to each rank.
        send: Elements,
        /// The block that it receives from each rank.
        recv: Elements,
    },
    /// `MPI_Barrier`.
    Barrier,
    /// `MPI_Scan`.
    Scan {
        /// The input of every rank.
        data: Elements,
        /// The operator.
        operator: OperatorHandle,
    },
    /// `MPI_Exscan`. The first rank has no result: its output is neither read nor written, except that its input is there
    /// in place.
    Exscan {
        /// The input of every rank.
        data: Elements,
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
            Self::Alltoall { .. } => Collective::Alltoall,
            Self::Barrier => Collective::Barrier,
            Self::Scan { .. } => Collective::Scan,
            Self::Exscan { .. } => Collective::Exscan,
        }
    }

    /// The root; 0 if the collective has none.
    pub fn root(&self) -> u32 {
        match *self {
            Self::Bcast { root, .. }
            | Self::Reduce { root, .. }
            | Self::Gather { root, .. }
            | Self::Scatter { root, .. } => root,
            Self::Allreduce { .. }
            | Self::Allgather { .. }
            | Self::ReduceScatter { .. }
            | Self::ReduceScatterBlock { .. }
            | Self::Alltoall { .. }
            | Self::Barrier
            | Self::Scan { .. }
            | Self::Exscan { .. } => 0,
        }
    }

    /// The datatype and operator of a reduction; `None` in data movement.
    pub fn reduction(&self) -> Option<(DatatypeHandle, OperatorHandle)> {
        match *self {
            Self::Reduce { data, operator, .. }
            | Self::Allreduce { data, operator }
            | Self::Scan { data, operator }
            | Self::Exscan { data, operator } => Some((data.datatype, operator)),
            Self::ReduceScatter {
                datatype, operator, ..
            } => Some((datatype, operator)),
            Self::ReduceScatterBlock { part, operator } => Some((part.datatype, operator)),
            Self::Bcast { .. }
            | Self::Gather { .. }
            | Self::Scatter { .. }
            | Self::Allgather { .. }
            | Self::Alltoall { .. }
            | Self::Barrier => None,
        }
    }

    /// The length of the call in the schedule's units: elements in reductions, bytes in data movement, 0 of a barrier.
    pub(crate) fn length_in_units(&self, is_root: bool, in_place: bool) -> Result<u64, ExecError> {
        match *self {
            Self::Barrier => Ok(0),
            Self::Bcast { data, .. } => data.size_bytes(),
            Self::Reduce { data, .. }
            | Self::Allreduce { data, .. }
            | Self::Scan { data, .. }
            | Self::Exscan { data, .. } => Ok(data.count),
            Self::ReduceScatterBlock { part, .. } => Ok(part.count),
            Self::ReduceScatter { counts, .. } => counts
                .iter()
                .try_fold(0_u64, |sum, count| sum.checked_add(*count))
                .ok_or(ExecError::TooLarge { bytes: u64::MAX }),
            Self::Gather { send, .. } if !is_root => send.size_bytes(),
            Self::Scatter { recv, .. } if !is_root => recv.size_bytes(),
            Self::Gather { recv, .. }
            | Self::Allgather { recv, .. }
            | Self::Alltoall { recv, .. }
                if in_place =>
            {
                recv.size_bytes()
            }
            Self::Scatter { send, .. } if in_place => send.size_bytes(),
            Self::Gather { send, recv, .. }
            | Self::Scatter { send, recv, .. }
            | Self::Allgather { send, recv }
            | Self::Alltoall { send, recv } => {
                let (bytes, received) = (send.size_bytes()?, recv.size_bytes()?);
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

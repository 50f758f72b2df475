//! Calls handed on to the library, by the names that nobody intercepts.

use std::ffi::c_int;

use exec::constants::MPI_Comm;
use mpi::ffi;
use schedule::Collective;

use crate::RawCall;

impl RawCall {
    /// The library's own collective. Returns MPI's error code.
    ///
    /// # Safety
    ///
    /// As MPI asks of the call.
    #[inline]
    pub unsafe fn forward(&self, communicator: MPI_Comm) -> c_int {
        let Self {
            collective,
            send,
            recv,
            send_count,
            send_type,
            recv_count: count,
            recv_type: datatype,
            counts,
            operator,
            root,
        } = *self;
        // SAFETY: the caller's.
        unsafe {
            match collective {
                Collective::Bcast => ffi::PMPI_Bcast(recv, count, datatype, root, communicator),
                Collective::Reduce => {
                    ffi::PMPI_Reduce(send, recv, count, datatype, operator, root, communicator)
                }
                Collective::Allreduce => {
                    ffi::PMPI_Allreduce(send, recv, count, datatype, operator, communicator)
                }
                Collective::Gather => ffi::PMPI_Gather(
                    send,
                    send_count,
                    send_type,
                    recv,
                    count,
                    datatype,
                    root,
                    communicator,
                ),
                Collective::Scatter => ffi::PMPI_Scatter(
                    send,
                    send_count,
                    send_type,
                    recv,
                    count,
                    datatype,
                    root,
                    communicator,
                ),
                Collective::Allgather => ffi::PMPI_Allgather(
                    send,
                    send_count,
                    send_type,
                    recv,
                    count,
                    datatype,
                    communicator,
                ),
                Collective::ReduceScatter => {
                    ffi::PMPI_Reduce_scatter(send, recv, counts, datatype, operator, communicator)
                }
                Collective::ReduceScatterBlock => ffi::PMPI_Reduce_scatter_block(
                    send,
                    recv,
                    count,
                    datatype,
                    operator,
                    communicator,
                ),
                // Nothing here makes these calls.
                Collective::Alltoall | Collective::Barrier | Collective::Scan => {
                    ffi::MPI_ERR_OTHER as c_int
                }
            }
        }
    }
}

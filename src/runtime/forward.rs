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
    #[inline(always)]
    pub unsafe fn forward(&self, communicator: MPI_Comm) -> c_int {
        // SAFETY: the caller's.
        unsafe {
            match self.collective.is_reduction() {
                true => self.combine(communicator),
                false => self.move_data(communicator),
            }
        }
    }

    /// # Safety
    ///
    /// As MPI asks of the call.
    #[inline(always)]
    unsafe fn combine(&self, on: MPI_Comm) -> c_int {
        let Self {
            send,
            recv,
            recv_count: count,
            recv_type: datatype,
            counts,
            operator,
            root,
            ..
        } = *self;
        // SAFETY: the caller's.
        unsafe {
            match self.collective {
                Collective::Reduce => {
                    ffi::PMPI_Reduce(send, recv, count, datatype, operator, root, on)
                }
                Collective::Allreduce => {
                    ffi::PMPI_Allreduce(send, recv, count, datatype, operator, on)
                }
                Collective::ReduceScatter => {
                    ffi::PMPI_Reduce_scatter(send, recv, counts, datatype, operator, on)
                }
                Collective::ReduceScatterBlock => {
                    ffi::PMPI_Reduce_scatter_block(send, recv, count, datatype, operator, on)
                }
                _ => NOT_HERE,
            }
        }
    }

    /// # Safety
    ///
    /// As MPI asks of the call.
    #[inline(always)]
    unsafe fn move_data(&self, on: MPI_Comm) -> c_int {
        let Self {
            send,
            recv,
            send_count,
            send_type,
            recv_count: count,
            recv_type: datatype,
            root,
            ..
        } = *self;
        // SAFETY: the caller's.
        unsafe {
            match self.collective {
                Collective::Bcast => ffi::PMPI_Bcast(recv, count, datatype, root, on),
                Collective::Gather => {
                    ffi::PMPI_Gather(send, send_count, send_type, recv, count, datatype, root, on)
                }
                Collective::Scatter => {
                    ffi::PMPI_Scatter(send, send_count, send_type, recv, count, datatype, root, on)
                }
                Collective::Allgather => {
                    ffi::PMPI_Allgather(send, send_count, send_type, recv, count, datatype, on)
                }
                _ => NOT_HERE,
            }
        }
    }
}

/// For collectives that have no algorithms here: nobody makes such calls.
const NOT_HERE: c_int = ffi::MPI_ERR_OTHER as c_int;

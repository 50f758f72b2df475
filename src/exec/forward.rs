//! Calls passed on to the library.

use std::ffi::c_int;

use mpi::ffi;
use schedule::Collective;

use crate::RawCall;
use crate::constants::MPI_Comm;

/// Defines a method that makes the call by functions with these names.
macro_rules! call_by {
    ($(#[$about:meta])* $method:ident: $bcast:ident, $reduce:ident, $allreduce:ident, $gather:ident,
     $scatter:ident, $allgather:ident, $reduce_scatter:ident, $reduce_scatter_block:ident,
     $alltoall:ident, $barrier:ident, $scan:ident) => {
        $(#[$about])*
        #[inline(always)]
        pub unsafe fn $method(&self, on: MPI_Comm) -> c_int {
            let Self { send, recv, send_count, send_type, counts, operator, root, .. } = *self;
            let (count, datatype) = (self.recv_count, self.recv_type);
            // SAFETY: the caller's.
            unsafe {
                match self.collective {
                    Collective::Bcast => ffi::$bcast(recv, count, datatype, root, on),
                    Collective::Reduce => {
                        ffi::$reduce(send, recv, count, datatype, operator, root, on)
                    }
                    Collective::Allreduce => {
                        ffi::$allreduce(send, recv, count, datatype, operator, on)
                    }
                    Collective::Gather => {
                        ffi::$gather(send, send_count, send_type, recv, count, datatype, root, on)
                    }
                    Collective::Scatter => {
                        ffi::$scatter(send, send_count, send_type, recv, count, datatype, root, on)
                    }
                    Collective::Allgather => {
                        ffi::$allgather(send, send_count, send_type, recv, count, datatype, on)
                    }
                    Collective::ReduceScatter => {
                        ffi::$reduce_scatter(send, recv, counts, datatype, operator, on)
                    }
                    Collective::ReduceScatterBlock => {
                        ffi::$reduce_scatter_block(send, recv, count, datatype, operator, on)
                    }
                    Collective::Alltoall => {
                        ffi::$alltoall(send, send_count, send_type, recv, count, datatype, on)
                    }
                    Collective::Barrier => ffi::$barrier(on),
                    Collective::Scan => ffi::$scan(send, recv, count, datatype, operator, on),
                }
            }
        }
    };
}

impl RawCall {
    call_by! {
        /// Makes the call as programs do. Returns MPI's error code.
        ///
        /// # Safety
        ///
        /// As MPI asks of the call.
        call: MPI_Bcast, MPI_Reduce, MPI_Allreduce, MPI_Gather, MPI_Scatter, MPI_Allgather,
        MPI_Reduce_scatter, MPI_Reduce_scatter_block, MPI_Alltoall, MPI_Barrier, MPI_Scan
    }
    call_by! {
        /// Makes the call by the names that tools do not intercept. Returns MPI's error code.
        ///
        /// # Safety
        ///
        /// As MPI asks of the call.
        forward: PMPI_Bcast, PMPI_Reduce, PMPI_Allreduce, PMPI_Gather, PMPI_Scatter, PMPI_Allgather,
        PMPI_Reduce_scatter, PMPI_Reduce_scatter_block, PMPI_Alltoall, PMPI_Barrier, PMPI_Scan
    }
}

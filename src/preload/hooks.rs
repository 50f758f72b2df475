//! The collectives that take the place of MPI's.

use std::ffi::{c_int, c_void};

use runtime::RawCall;
use schedule::Collective;

use crate::handle::Handle;
use crate::lifetime::tuner;

/// Defines a function of MPI's name. Calls that are known to be left to the library go there at once; for all others
/// there is a function of its own, so that what these need costs the former nothing.
macro_rules! intercept {
    (
        $name:ident, $library:ident($($argument:ident: $kind:ty),* $(,)?),
        on $communicator:ident, $call:expr
    ) => {
        unsafe extern "C" {
            fn $library($($argument: $kind),*) -> c_int;
        }

        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        ///
        /// MPI's own conditions.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
            #[inline(never)]
            unsafe extern "C" fn decide($($argument: $kind),*) -> c_int {
                // SAFETY: the caller's.
                unsafe {
                    match tuner() {
                        Some(tuner) => tuner.call($communicator.communicator(), $call),
                        None => $library($($argument),*),
                    }
                }
            }
            // SAFETY: the caller's.
            unsafe {
                match tuner() {
                    Some(tuner) if !tuner.passes_on($communicator.communicator(), &$call) => {
                        decide($($argument),*)
                    }
                    _ => $library($($argument),*),
                }
            }
        }
    };
}

intercept!(
    MPI_Bcast,
    PMPI_Bcast(
        buffer: *mut c_void,
        count: c_int,
        datatype: Handle,
        root: c_int,
        communicator: Handle,
    ),
    on communicator,
    RawCall::new(Collective::Bcast, std::ptr::null(), buffer, count, datatype.datatype()).at(root)
);

intercept!(
    MPI_Reduce,
    PMPI_Reduce(
        send: *const c_void,
        recv: *mut c_void,
        count: c_int,
        datatype: Handle,
        operator: Handle,
        root: c_int,
        communicator: Handle,
    ),
    on communicator,
    RawCall::new(Collective::Reduce, send, recv, count, datatype.datatype())
        .by(operator.operator())
        .at(root)
);

intercept!(
    MPI_Allreduce,
    PMPI_Allreduce(
        send: *const c_void,
        recv: *mut c_void,
        count: c_int,
        datatype: Handle,
        operator: Handle,
        communicator: Handle,
    ),
    on communicator,
    RawCall::new(Collective::Allreduce, send, recv, count, datatype.datatype())
        .by(operator.operator())
);

intercept!(
    MPI_Gather,
    PMPI_Gather(
        send: *const c_void,
        send_count: c_int,
        send_type: Handle,
        recv: *mut c_void,
        recv_count: c_int,
        recv_type: Handle,
        root: c_int,
        communicator: Handle,
    ),
    on communicator,
    RawCall::new(Collective::Gather, send, recv, recv_count, recv_type.datatype())
        .sending(send_count, send_type.datatype())
        .at(root)
);

intercept!(
    MPI_Scatter,
    PMPI_Scatter(
        send: *const c_void,
        send_count: c_int,
        send_type: Handle,
        recv: *mut c_void,
        recv_count: c_int,
        recv_type: Handle,
        root: c_int,
        communicator: Handle,
    ),
    on communicator,
    RawCall::new(Collective::Scatter, send, recv, recv_count, recv_type.datatype())
        .sending(send_count, send_type.datatype())
        .at(root)
);

intercept!(
    MPI_Allgather,
    PMPI_Allgather(
        send: *const c_void,
        send_count: c_int,
        send_type: Handle,
        recv: *mut c_void,
        recv_count: c_int,
        recv_type: Handle,
        communicator: Handle,
    ),
    on communicator,
    RawCall::new(Collective::Allgather, send, recv, recv_count, recv_type.datatype())
        .sending(send_count, send_type.datatype())
);

intercept!(
    MPI_Reduce_scatter,
    PMPI_Reduce_scatter(
        send: *const c_void,
        recv: *mut c_void,
        counts: *const c_int,
        datatype: Handle,
        operator: Handle,
        communicator: Handle,
    ),
    on communicator,
    RawCall::new(Collective::ReduceScatter, send, recv, 0, datatype.datatype())
        .by(operator.operator())
        .parts(counts)
);

intercept!(
    MPI_Reduce_scatter_block,
    PMPI_Reduce_scatter_block(
        send: *const c_void,
        recv: *mut c_void,
        count: c_int,
        datatype: Handle,
        operator: Handle,
        communicator: Handle,
    ),
    on communicator,
    RawCall::new(Collective::ReduceScatterBlock, send, recv, count, datatype.datatype())
        .by(operator.operator())
);

//! The collectives that take the place of MPI's.

use std::ffi::{c_int, c_void};

use runtime::RawCall;
use schedule::Collective;

use crate::handle::Handle;
use crate::lifetime::tuner;

unsafe extern "C" {
    fn PMPI_Bcast(
        buffer: *mut c_void,
        count: c_int,
        datatype: Handle,
        root: c_int,
        communicator: Handle,
    ) -> c_int;
    fn PMPI_Reduce(
        send: *const c_void,
        recv: *mut c_void,
        count: c_int,
        datatype: Handle,
        operator: Handle,
        root: c_int,
        communicator: Handle,
    ) -> c_int;
    fn PMPI_Allreduce(
        send: *const c_void,
        recv: *mut c_void,
        count: c_int,
        datatype: Handle,
        operator: Handle,
        communicator: Handle,
    ) -> c_int;
    fn PMPI_Gather(
        send: *const c_void,
        send_count: c_int,
        send_type: Handle,
        recv: *mut c_void,
        recv_count: c_int,
        recv_type: Handle,
        root: c_int,
        communicator: Handle,
    ) -> c_int;
    fn PMPI_Scatter(
        send: *const c_void,
        send_count: c_int,
        send_type: Handle,
        recv: *mut c_void,
        recv_count: c_int,
        recv_type: Handle,
        root: c_int,
        communicator: Handle,
    ) -> c_int;
    fn PMPI_Allgather(
        send: *const c_void,
        send_count: c_int,
        send_type: Handle,
        recv: *mut c_void,
        recv_count: c_int,
        recv_type: Handle,
        communicator: Handle,
    ) -> c_int;
    fn PMPI_Reduce_scatter(
        send: *const c_void,
        recv: *mut c_void,
        counts: *const c_int,
        datatype: Handle,
        operator: Handle,
        communicator: Handle,
    ) -> c_int;
    fn PMPI_Reduce_scatter_block(
        send: *const c_void,
        recv: *mut c_void,
        count: c_int,
        datatype: Handle,
        operator: Handle,
        communicator: Handle,
    ) -> c_int;
}

/// `MPI_Bcast`.
///
/// # Safety
///
/// MPI's own conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Bcast(
    buffer: *mut c_void,
    count: c_int,
    datatype: Handle,
    root: c_int,
    communicator: Handle,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let Some(tuner) = tuner() else {
            return PMPI_Bcast(buffer, count, datatype, root, communicator);
        };
        let (unused, kind) = (std::ptr::null(), datatype.datatype());
        let call = RawCall::new(Collective::Bcast, unused, buffer, count, kind).at(root);
        tuner.call(communicator.communicator(), call)
    }
}

/// `MPI_Reduce`.
///
/// # Safety
///
/// MPI's own conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Reduce(
    send: *const c_void,
    recv: *mut c_void,
    count: c_int,
    datatype: Handle,
    operator: Handle,
    root: c_int,
    communicator: Handle,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let Some(tuner) = tuner() else {
            return PMPI_Reduce(send, recv, count, datatype, operator, root, communicator);
        };
        let call = RawCall::new(Collective::Reduce, send, recv, count, datatype.datatype())
            .by(operator.operator())
            .at(root);
        tuner.call(communicator.communicator(), call)
    }
}

/// `MPI_Allreduce`.
///
/// # Safety
///
/// MPI's own conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Allreduce(
    send: *const c_void,
    recv: *mut c_void,
    count: c_int,
    datatype: Handle,
    operator: Handle,
    communicator: Handle,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let Some(tuner) = tuner() else {
            return PMPI_Allreduce(send, recv, count, datatype, operator, communicator);
        };
        let kind = datatype.datatype();
        let call =
            RawCall::new(Collective::Allreduce, send, recv, count, kind).by(operator.operator());
        tuner.call(communicator.communicator(), call)
    }
}

/// `MPI_Gather`.
///
/// # Safety
///
/// MPI's own conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Gather(
    send: *const c_void,
    send_count: c_int,
    send_type: Handle,
    recv: *mut c_void,
    recv_count: c_int,
    recv_type: Handle,
    root: c_int,
    communicator: Handle,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let Some(tuner) = tuner() else {
            return PMPI_Gather(
                send,
                send_count,
                send_type,
                recv,
                recv_count,
                recv_type,
                root,
                communicator,
            );
        };
        let kind = recv_type.datatype();
        let call = RawCall::new(Collective::Gather, send, recv, recv_count, kind)
            .sending(send_count, send_type.datatype())
            .at(root);
        tuner.call(communicator.communicator(), call)
    }
}

/// `MPI_Scatter`.
///
/// # Safety
///
/// MPI's own conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Scatter(
    send: *const c_void,
    send_count: c_int,
    send_type: Handle,
    recv: *mut c_void,
    recv_count: c_int,
    recv_type: Handle,
    root: c_int,
    communicator: Handle,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let Some(tuner) = tuner() else {
            return PMPI_Scatter(
                send,
                send_count,
                send_type,
                recv,
                recv_count,
                recv_type,
                root,
                communicator,
            );
        };
        let kind = recv_type.datatype();
        let call = RawCall::new(Collective::Scatter, send, recv, recv_count, kind)
            .sending(send_count, send_type.datatype())
            .at(root);
        tuner.call(communicator.communicator(), call)
    }
}

/// `MPI_Allgather`.
///
/// # Safety
///
/// MPI's own conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Allgather(
    send: *const c_void,
    send_count: c_int,
    send_type: Handle,
    recv: *mut c_void,
    recv_count: c_int,
    recv_type: Handle,
    communicator: Handle,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let Some(tuner) = tuner() else {
            return PMPI_Allgather(
                send,
                send_count,
                send_type,
                recv,
                recv_count,
                recv_type,
                communicator,
            );
        };
        let kind = recv_type.datatype();
        let call = RawCall::new(Collective::Allgather, send, recv, recv_count, kind)
            .sending(send_count, send_type.datatype());
        tuner.call(communicator.communicator(), call)
    }
}

/// `MPI_Reduce_scatter`.
///
/// # Safety
///
/// MPI's own conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Reduce_scatter(
    send: *const c_void,
    recv: *mut c_void,
    counts: *const c_int,
    datatype: Handle,
    operator: Handle,
    communicator: Handle,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let Some(tuner) = tuner() else {
            return PMPI_Reduce_scatter(send, recv, counts, datatype, operator, communicator);
        };
        let kind = datatype.datatype();
        let call = RawCall::new(Collective::ReduceScatter, send, recv, 0, kind)
            .by(operator.operator())
            .parts(counts);
        tuner.call(communicator.communicator(), call)
    }
}

/// `MPI_Reduce_scatter_block`.
///
/// # Safety
///
/// MPI's own conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Reduce_scatter_block(
    send: *const c_void,
    recv: *mut c_void,
    count: c_int,
    datatype: Handle,
    operator: Handle,
    communicator: Handle,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let Some(tuner) = tuner() else {
            return PMPI_Reduce_scatter_block(send, recv, count, datatype, operator, communicator);
        };
        let kind = datatype.datatype();
        let call = RawCall::new(Collective::ReduceScatterBlock, send, recv, count, kind)
            .by(operator.operator());
        tuner.call(communicator.communicator(), call)
    }
}

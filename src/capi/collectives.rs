//! The collectives of `include/colltune.h`.

use std::ffi::{c_int, c_void};

use exec::constants::{MPI_Comm, MPI_Datatype, MPI_Op};
use mpi::ffi;
use runtime::RawCall;
use schedule::Collective;

use crate::check::refused;
use crate::header::CTable;

/// # Safety
///
/// The table is null or one of `colltune_load`'s, and MPI's conditions hold.
unsafe fn call(table: *const CTable, communicator: MPI_Comm, call: &RawCall) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        if let Some(class) = refused(call, communicator) {
            return class;
        }
        match table.as_ref() {
            Some(table) => table.tuner.call(communicator, call),
            None if exec::is_running() => call.forward(communicator),
            // There is nobody to pass it on to, nor an error handler.
            None => ffi::MPI_ERR_OTHER as c_int,
        }
    }
}

/// See `include/colltune.h`.
///
/// # Safety
///
/// MPI's conditions, and those of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colltune_bcast(
    table: *const CTable,
    buffer: *mut c_void,
    count: c_int,
    datatype: MPI_Datatype,
    root: c_int,
    communicator: MPI_Comm,
) -> c_int {
    let raw = RawCall::new(Collective::Bcast, std::ptr::null(), buffer, count, datatype).at(root);
    // SAFETY: the caller's.
    unsafe { call(table, communicator, &raw) }
}

/// See `include/colltune.h`.
///
/// # Safety
///
/// MPI's conditions, and those of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colltune_reduce(
    table: *const CTable,
    send: *const c_void,
    recv: *mut c_void,
    count: c_int,
    datatype: MPI_Datatype,
    operator: MPI_Op,
    root: c_int,
    communicator: MPI_Comm,
) -> c_int {
    let raw = RawCall::new(Collective::Reduce, send, recv, count, datatype)
        .by(operator)
        .at(root);
    // SAFETY: the caller's.
    unsafe { call(table, communicator, &raw) }
}

/// See `include/colltune.h`.
///
/// # Safety
///
/// MPI's conditions, and those of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colltune_allreduce(
    table: *const CTable,
    send: *const c_void,
    recv: *mut c_void,
    count: c_int,
    datatype: MPI_Datatype,
    operator: MPI_Op,
    communicator: MPI_Comm,
) -> c_int {
    let raw = RawCall::new(Collective::Allreduce, send, recv, count, datatype).by(operator);
    // SAFETY: the caller's.
    unsafe { call(table, communicator, &raw) }
}

/// See `include/colltune.h`.
///
/// # Safety
///
/// MPI's conditions, and those of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colltune_gather(
    table: *const CTable,
    send: *const c_void,
    send_count: c_int,
    send_type: MPI_Datatype,
    recv: *mut c_void,
    recv_count: c_int,
    recv_type: MPI_Datatype,
    root: c_int,
    communicator: MPI_Comm,
) -> c_int {
    let raw = RawCall::new(Collective::Gather, send, recv, recv_count, recv_type)
        .sending(send_count, send_type)
        .at(root);
    // SAFETY: the caller's.
    unsafe { call(table, communicator, &raw) }
}

/// See `include/colltune.h`.
///
/// # Safety
///
/// MPI's conditions, and those of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colltune_scatter(
    table: *const CTable,
    send: *const c_void,
    send_count: c_int,
    send_type: MPI_Datatype,
    recv: *mut c_void,
    recv_count: c_int,
    recv_type: MPI_Datatype,
    root: c_int,
    communicator: MPI_Comm,
) -> c_int {
    let raw = RawCall::new(Collective::Scatter, send, recv, recv_count, recv_type)
        .sending(send_count, send_type)
        .at(root);
    // SAFETY: the caller's.
    unsafe { call(table, communicator, &raw) }
}

/// See `include/colltune.h`.
///
/// # Safety
///
/// MPI's conditions, and those of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colltune_allgather(
    table: *const CTable,
    send: *const c_void,
    send_count: c_int,
    send_type: MPI_Datatype,
    recv: *mut c_void,
    recv_count: c_int,
    recv_type: MPI_Datatype,
    communicator: MPI_Comm,
) -> c_int {
    let raw = RawCall::new(Collective::Allgather, send, recv, recv_count, recv_type)
        .sending(send_count, send_type);
    // SAFETY: the caller's.
    unsafe { call(table, communicator, &raw) }
}

/// See `include/colltune.h`.
///
/// # Safety
///
/// MPI's conditions, and those of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colltune_reduce_scatter(
    table: *const CTable,
    send: *const c_void,
    recv: *mut c_void,
    counts: *const c_int,
    datatype: MPI_Datatype,
    operator: MPI_Op,
    communicator: MPI_Comm,
) -> c_int {
    let raw = RawCall::new(Collective::ReduceScatter, send, recv, 0, datatype)
        .by(operator)
        .parts(counts);
    // SAFETY: the caller's.
    unsafe { call(table, communicator, &raw) }
}

/// See `include/colltune.h`.
///
/// # Safety
///
/// MPI's conditions, and those of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colltune_reduce_scatter_block(
    table: *const CTable,
    send: *const c_void,
    recv: *mut c_void,
    count: c_int,
    datatype: MPI_Datatype,
    operator: MPI_Op,
    communicator: MPI_Comm,
) -> c_int {
    let raw =
        RawCall::new(Collective::ReduceScatterBlock, send, recv, count, datatype).by(operator);
    // SAFETY: the caller's.
    unsafe { call(table, communicator, &raw) }
}

//! The library's own collectives, on any memory.

use std::ffi::{c_int, c_void};

use exec::{Arguments, Communicator};
use mpi::ffi;

/// Makes the call that the arguments describe, not in place.
///
/// # Safety
///
/// As in [`exec::ApplicationCall::call`]: the buffers match the arguments, the output is writable, the buffers do not
/// overlap, and all handles are valid.
pub(crate) unsafe fn call(
    arguments: &Arguments<'_>,
    communicator: &Communicator,
    send: *const c_void,
    recv: *mut c_void,
) {
    let comm = communicator.raw();
    let root = arguments.root() as c_int;
    let int = |count: u64| count as c_int;
    // SAFETY: the caller promises that the buffers match the arguments, that the output is writable, that the buffers
    // do not overlap, and that all handles are valid.
    let code = unsafe {
        match *arguments {
            Arguments::Reduce { data, operator, .. } => {
                let (count, datatype) = (int(data.count), data.datatype.raw());
                ffi::MPI_Reduce(send, recv, count, datatype, operator.raw(), root, comm)
            }
            Arguments::Allreduce { data, operator } => {
                let (count, datatype) = (int(data.count), data.datatype.raw());
                ffi::MPI_Allreduce(send, recv, count, datatype, operator.raw(), comm)
            }
            Arguments::ReduceScatter {
                counts,
                datatype,
                operator,
            } => {
                let counts: Vec<c_int> = counts.iter().copied().map(int).collect();
                let (datatype, operator) = (datatype.raw(), operator.raw());
                ffi::MPI_Reduce_scatter(send, recv, counts.as_ptr(), datatype, operator, comm)
            }
            Arguments::ReduceScatterBlock { part, operator } => {
                let (count, datatype) = (int(part.count), part.datatype.raw());
                ffi::MPI_Reduce_scatter_block(send, recv, count, datatype, operator.raw(), comm)
            }
            Arguments::Scan { data, operator } => {
                let (count, datatype) = (int(data.count), data.datatype.raw());
                ffi::MPI_Scan(send, recv, count, datatype, operator.raw(), comm)
            }
            Arguments::Exscan { data, operator } => {
                let (count, datatype) = (int(data.count), data.datatype.raw());
                ffi::MPI_Exscan(send, recv, count, datatype, operator.raw(), comm)
            }
            Arguments::Barrier => ffi::MPI_Barrier(comm),
            _ => move_data(arguments, communicator, send, recv),
        }
    };
    assert_eq!(code, 0, "{}: {}", arguments.collective(), text(code));
}

/// The collectives that move data.
///
/// # Safety
///
/// As in [`exec::ApplicationCall::call`]: the buffers match the arguments, the output is writable, the buffers do not
/// overlap, and all handles are valid.
unsafe fn move_data(
    arguments: &Arguments<'_>,
    communicator: &Communicator,
    send: *const c_void,
    recv: *mut c_void,
) -> c_int {
    let (comm, root) = (communicator.raw(), arguments.root() as c_int);
    let int = |count: u64| count as c_int;
    // SAFETY: the caller promises that the buffers match the arguments, that the output is writable, that the buffers
    // do not overlap, and that all handles are valid.
    unsafe {
        match *arguments {
            Arguments::Bcast { data, .. } => {
                ffi::MPI_Bcast(recv, int(data.count), data.datatype.raw(), root, comm)
            }
            Arguments::Gather {
                send: sent,
                recv: got,
                ..
            } => ffi::MPI_Gather(
                send,
                int(sent.count),
                sent.datatype.raw(),
                recv,
                int(got.count),
                got.datatype.raw(),
                root,
                comm,
            ),
            Arguments::Scatter {
                send: sent,
                recv: got,
                ..
            } => ffi::MPI_Scatter(
                send,
                int(sent.count),
                sent.datatype.raw(),
                recv,
                int(got.count),
                got.datatype.raw(),
                root,
                comm,
            ),
            Arguments::Allgather {
                send: sent,
                recv: got,
            } => ffi::MPI_Allgather(
                send,
                int(sent.count),
                sent.datatype.raw(),
                recv,
                int(got.count),
                got.datatype.raw(),
                comm,
            ),
            Arguments::Alltoall {
                send: sent,
                recv: got,
            } => ffi::MPI_Alltoall(
                send,
                int(sent.count),
                sent.datatype.raw(),
                recv,
                int(got.count),
                got.datatype.raw(),
                comm,
            ),
            _ => unreachable!("a reduction"),
        }
    }
}

/// The library's text for a return code.
fn text(code: c_int) -> String {
    let mut text = [0; ffi::MPI_MAX_ERROR_STRING as usize + 1];
    let mut length = 0;
    // SAFETY: `text` holds what the library may write and stays zero-terminated.
    unsafe {
        ffi::MPI_Error_string(code, text.as_mut_ptr(), &mut length);
        std::ffi::CStr::from_ptr(text.as_ptr())
            .to_string_lossy()
            .into_owned()
    }
}

//! The MPI library's functions for the recorder's own communication, which neither tools nor tables nor the recorder see.

use std::ffi::{CStr, c_int, c_void};

use exec::constants::MPI_Comm;
use exec::{ExecError, check_code};
use mpi::ffi;

use crate::chain::{function, function_of_library};

/// The tag of the recorder's messages, on communicators of its own.
const TAG: c_int = 0;

/// The most bytes of one message.
const PIECE: usize = 1 << 30;

fn find_function(name: &'static CStr) -> Result<*const c_void, ExecError> {
    function_of_library(name).ok_or_else(|| ExecError::Mpi {
        call: name.to_str().unwrap_or_default(),
        code: -1,
        message: "the library has no such function".to_owned(),
    })
}

/// Splits a communicator: the ranks that give `is_in`, in order; the others get a null one. Collective.
///
/// # Safety
///
/// The communicator is a valid intracommunicator.
pub(super) unsafe fn split(on: MPI_Comm, is_in: bool, rank: c_int) -> Result<MPI_Comm, ExecError> {
    let split_function = find_function(c"PMPI_Comm_split")?;
    // SAFETY: the caller promises a valid communicator; the function has these arguments, and writes the new one.
    unsafe {
        let mut made = ffi::RSMPI_COMM_NULL;
        let color = if is_in { 0 } else { ffi::RSMPI_UNDEFINED };
        let code = function!(split_function, (MPI_Comm, c_int, c_int, *mut MPI_Comm))(
            on,
            color,
            rank,
            &raw mut made,
        );
        check_code("MPI_Comm_split", code)?;
        Ok(made)
    }
}

/// The communicator of the ranks that share memory with this one. Collective.
///
/// # Safety
///
/// The communicator is a valid intracommunicator.
pub(super) unsafe fn split_by_node(on: MPI_Comm, rank: c_int) -> Result<MPI_Comm, ExecError> {
    let split_function = find_function(c"PMPI_Comm_split_type")?;
    // SAFETY: the caller promises a valid communicator; the function has these arguments, and writes the new one.
    unsafe {
        let mut made = ffi::RSMPI_COMM_NULL;
        let code = function!(
            split_function,
            (MPI_Comm, c_int, c_int, ffi::MPI_Info, *mut MPI_Comm)
        )(
            on,
            ffi::RSMPI_COMM_TYPE_SHARED,
            rank,
            ffi::RSMPI_INFO_NULL,
            &raw mut made,
        );
        check_code("MPI_Comm_split_type", code)?;
        Ok(made)
    }
}

/// The largest of a number over all ranks. Collective.
///
/// # Safety
///
/// The communicator is a valid intracommunicator.
pub(super) unsafe fn largest_over_ranks(on: MPI_Comm, number: c_int) -> Result<c_int, ExecError> {
    let allreduce = find_function(c"PMPI_Allreduce")?;
    let mut largest = number;
    // SAFETY: the caller promises a valid communicator; the function has these arguments, and one number is sent and
    // written.
    let code = unsafe {
        function!(
            allreduce,
            (
                *const c_int,
                *mut c_int,
                c_int,
                ffi::MPI_Datatype,
                ffi::MPI_Op,
                MPI_Comm
            )
        )(
            &raw const number,
            &raw mut largest,
            1,
            ffi::RSMPI_INT32_T,
            ffi::RSMPI_MAX,
            on,
        )
    };
    check_code("MPI_Allreduce", code)?;
    Ok(largest)
}

/// The sums of numbers over all ranks, on the first rank; `None` on the others. Collective.
///
/// # Safety
///
/// The communicator is a valid intracommunicator, and all ranks have as many numbers.
pub(crate) unsafe fn add_on_first(
    on: MPI_Comm,
    rank: c_int,
    numbers: &[u64],
) -> Result<Option<Vec<u64>>, ExecError> {
    let reduce = find_function(c"PMPI_Reduce")?;
    let mut sums = vec![0_u64; numbers.len()];
    // SAFETY: the caller promises a valid communicator on which all ranks have as many numbers; the function has these
    // arguments, and the first rank's sums have as much room.
    let code = unsafe {
        function!(
            reduce,
            (
                *const u64,
                *mut u64,
                c_int,
                ffi::MPI_Datatype,
                ffi::MPI_Op,
                c_int,
                MPI_Comm
            )
        )(
            numbers.as_ptr(),
            sums.as_mut_ptr(),
            numbers.len() as c_int,
            ffi::RSMPI_UINT64_T,
            ffi::RSMPI_SUM,
            0,
            on,
        )
    };
    check_code("MPI_Reduce", code)?;
    Ok((rank == 0).then_some(sums))
}

/// A number of each rank. Collective.
///
/// # Safety
///
/// The communicator is a valid intracommunicator with as many ranks.
pub(super) unsafe fn gather_from_all(
    on: MPI_Comm,
    own: u32,
    ranks: c_int,
) -> Result<Vec<u32>, ExecError> {
    let allgather = find_function(c"PMPI_Allgather")?;
    let mut all = vec![0_u32; usize::try_from(ranks).unwrap_or(0)];
    // SAFETY: the caller promises a valid communicator with as many ranks as there is room for; the function has these
    // arguments.
    let code = unsafe {
        function!(
            allgather,
            (
                *const u32,
                c_int,
                ffi::MPI_Datatype,
                *mut u32,
                c_int,
                ffi::MPI_Datatype,
                MPI_Comm
            )
        )(
            &raw const own,
            1,
            ffi::RSMPI_UINT32_T,
            all.as_mut_ptr(),
            1,
            ffi::RSMPI_UINT32_T,
            on,
        )
    };
    check_code("MPI_Allgather", code)?;
    Ok(all)
}

/// Bytes of the first rank on all ranks. Collective.
///
/// # Safety
///
/// The communicator is a valid intracommunicator, and all ranks have as many bytes.
pub(crate) unsafe fn broadcast(on: MPI_Comm, bytes: &mut [u8]) -> Result<(), ExecError> {
    let bcast = find_function(c"PMPI_Bcast")?;
    for piece in bytes.chunks_mut(PIECE) {
        // SAFETY: the caller promises a valid communicator on which all ranks have as many bytes; the function has these
        // arguments.
        let code = unsafe {
            function!(bcast, (*mut u8, c_int, ffi::MPI_Datatype, c_int, MPI_Comm))(
                piece.as_mut_ptr(),
                piece.len() as c_int,
                ffi::RSMPI_UINT8_T,
                0,
                on,
            )
        };
        check_code("MPI_Bcast", code)?;
    }
    Ok(())
}

/// Sends bytes whose number the receiver knows.
///
/// # Safety
///
/// The communicator is valid, and the other rank receives them.
pub(super) unsafe fn send_bytes(on: MPI_Comm, to: c_int, bytes: &[u8]) -> Result<(), ExecError> {
    for piece in bytes.chunks(PIECE) {
        // SAFETY: the caller promises a valid communicator on which the other rank receives the bytes.
        let code = unsafe {
            ffi::PMPI_Send(
                piece.as_ptr().cast(),
                piece.len() as c_int,
                ffi::RSMPI_UINT8_T,
                to,
                TAG,
                on,
            )
        };
        check_code("MPI_Send", code)?;
    }
    Ok(())
}

/// Receives as many bytes.
///
/// # Safety
///
/// The communicator is valid, and the other rank sends them.
pub(super) unsafe fn receive_bytes(
    on: MPI_Comm,
    from: c_int,
    bytes: &mut [u8],
) -> Result<(), ExecError> {
    for piece in bytes.chunks_mut(PIECE) {
        // SAFETY: the caller promises a valid communicator on which the other rank sends the bytes; a status that is
        // ignored is a constant of the library.
        let code = unsafe {
            ffi::PMPI_Recv(
                piece.as_mut_ptr().cast(),
                piece.len() as c_int,
                ffi::RSMPI_UINT8_T,
                from,
                TAG,
                on,
                ffi::RSMPI_STATUS_IGNORE,
            )
        };
        check_code("MPI_Recv", code)?;
    }
    Ok(())
}

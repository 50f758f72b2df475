//! What all ranks of a communicator have in common.

use std::ffi::c_int;

use exec::constants::{MPI_Comm, MPI_Datatype, MPI_Op};
use exec::{ExecError, check};
use mpi::ffi;

/// Whether all ranks give the same numbers, at most four. Collective.
///
/// # Safety
///
/// `communicator` is a valid intracommunicator.
pub(crate) unsafe fn is_same(communicator: MPI_Comm, numbers: &[u64]) -> Result<bool, ExecError> {
    // The greatest is the least if it is the complement of the greatest complement.
    let mut both: Vec<u64> = numbers.to_vec();
    both.extend(numbers.iter().map(|number| !number));
    // SAFETY: the caller's.
    unsafe { reduce(communicator, &mut both, ffi::RSMPI_UINT64_T, ffi::RSMPI_MAX)? };
    let (greatest, complements) = both.split_at(numbers.len());
    let mut pairs = greatest.iter().zip(complements);
    Ok(pairs.all(|(greatest, complement)| *greatest == !complement))
}

/// The greatest of each number over all ranks. Collective.
///
/// # Safety
///
/// `communicator` is a valid intracommunicator.
pub(crate) unsafe fn greatest(
    communicator: MPI_Comm,
    numbers: &mut [i32],
) -> Result<(), ExecError> {
    // SAFETY: the caller's.
    unsafe { reduce(communicator, numbers, ffi::RSMPI_INT32_T, ffi::RSMPI_MAX) }
}

/// The sum of each number over all ranks. Collective.
///
/// # Safety
///
/// `communicator` is a valid intracommunicator.
pub(crate) unsafe fn sum(communicator: MPI_Comm, numbers: &mut [i32]) -> Result<(), ExecError> {
    // SAFETY: the caller's.
    unsafe { reduce(communicator, numbers, ffi::RSMPI_INT32_T, ffi::RSMPI_SUM) }
}

/// # Safety
///
/// The communicator is valid, and the datatype is that of the numbers.
unsafe fn reduce<Number: Copy>(
    communicator: MPI_Comm,
    numbers: &mut [Number],
    datatype: MPI_Datatype,
    operator: MPI_Op,
) -> Result<(), ExecError> {
    let mine = numbers.to_vec();
    let count = numbers.len() as c_int;
    // SAFETY: both hold as many numbers; PMPI, since MPI's own name may be intercepted by us.
    check("MPI_Allreduce", unsafe {
        ffi::PMPI_Allreduce(
            mine.as_ptr().cast(),
            numbers.as_mut_ptr().cast(),
            count,
            datatype,
            operator,
            communicator,
        )
    })
}

//! Agreement between all ranks of a communicator.

use std::ffi::c_int;

use exec::constants::{MPI_Comm, MPI_Datatype, MPI_Op};
use exec::{ExecError, check_code};
use mpi::ffi;

/// Whether all ranks pass the same numbers. Collective.
///
/// # Safety
///
/// `communicator` is a valid intracommunicator.
pub(crate) unsafe fn is_same(communicator: MPI_Comm, numbers: &[u64]) -> Result<bool, ExecError> {
    // SAFETY: the caller promises that the communicator is a valid intracommunicator.
    let same = unsafe { are_same(communicator, numbers)? };
    Ok(!same.contains(&false))
}

/// For each number, whether all ranks pass the same. Collective.
///
/// # Safety
///
/// `communicator` is a valid intracommunicator.
pub(crate) unsafe fn are_same(
    communicator: MPI_Comm,
    numbers: &[u64],
) -> Result<Vec<bool>, ExecError> {
    // The maximum equals the minimum if it equals the complement of the maximum of complements.
    let mut both: Vec<u64> = numbers.to_vec();
    both.extend(numbers.iter().map(|number| !number));
    // SAFETY: the caller promises that the communicator is a valid intracommunicator.
    unsafe { maximum_over_ranks(communicator, &mut both)? };
    let (greatest, complements) = both.split_at(numbers.len());
    let pairs = greatest.iter().zip(complements);
    Ok(pairs
        .map(|(maximum, complement)| *maximum == !complement)
        .collect())
}

/// Broadcasts the text of the first rank that has one. Collective.
///
/// # Safety
///
/// `communicator` is a valid intracommunicator.
pub(crate) unsafe fn first_text(
    communicator: MPI_Comm,
    mine: Option<&String>,
) -> Result<Option<String>, ExecError> {
    // SAFETY: the caller promises that the communicator is a valid intracommunicator; the buffer has the given length.
    unsafe {
        let (rank, ranks) = rank_and_size(communicator)?;
        let own = mine.map_or(&[][..], |text| text.as_bytes());
        // The maximum of these is the first rank's.
        let mut most = [mine.map_or(0, |_| ranks - rank), own.len() as c_int];
        maximum_over_ranks(communicator, &mut most)?;
        let [from_end, length] = most;
        if from_end == 0 {
            return Ok(None);
        }
        let mut buffer = own.to_vec();
        buffer.resize(length as usize, 0);
        check_code(
            "MPI_Bcast",
            ffi::PMPI_Bcast(
                buffer.as_mut_ptr().cast(),
                length,
                ffi::RSMPI_UINT8_T,
                ranks - from_end,
                communicator,
            ),
        )?;
        let text = String::from_utf8_lossy(&buffer);
        Ok(Some(text.trim_end_matches('\0').to_owned()))
    }
}

/// This process's rank, and the number of ranks.
///
/// # Safety
///
/// `communicator` is valid.
pub(crate) unsafe fn rank_and_size(communicator: MPI_Comm) -> Result<(c_int, c_int), ExecError> {
    let (mut rank, mut size) = (0, 0);
    // SAFETY: the caller promises that the communicator is valid; the results are written by the calls.
    unsafe {
        let code = ffi::PMPI_Comm_rank(communicator, &mut rank);
        check_code("MPI_Comm_rank", code)?;
        let size_code = ffi::PMPI_Comm_size(communicator, &mut size);
        check_code("MPI_Comm_size", size_code)?;
    }
    Ok((rank, size))
}

/// Whether this is the first rank.
///
/// # Safety
///
/// `communicator` is valid.
pub(crate) unsafe fn is_first(communicator: MPI_Comm) -> Result<bool, ExecError> {
    // SAFETY: the caller promises that the communicator is valid.
    let (rank, _) = unsafe { rank_and_size(communicator)? };
    Ok(rank == 0)
}

/// Computes the maximum of each number over all ranks. Collective.
///
/// # Safety
///
/// `communicator` is valid. If it is an intercommunicator, each group gets the maximum of the other one.
pub(crate) unsafe fn maximum_over_ranks<N: Number>(
    communicator: MPI_Comm,
    numbers: &mut [N],
) -> Result<(), ExecError> {
    // SAFETY: the caller promises that the communicator is valid.
    unsafe { reduce_over_ranks(communicator, numbers, ffi::RSMPI_MAX) }
}

/// Numbers that can be reduced.
pub(crate) trait Number: Copy {
    /// Their MPI datatype.
    fn datatype() -> MPI_Datatype;
}

impl Number for i32 {
    fn datatype() -> MPI_Datatype {
        // SAFETY: a constant of the library.
        unsafe { ffi::RSMPI_INT32_T }
    }
}

impl Number for u64 {
    fn datatype() -> MPI_Datatype {
        // SAFETY: a constant of the library.
        unsafe { ffi::RSMPI_UINT64_T }
    }
}

/// Computes the sum of each number over all ranks. Collective.
///
/// # Safety
///
/// `communicator` is a valid intracommunicator.
pub(crate) unsafe fn sum_over_ranks(
    communicator: MPI_Comm,
    numbers: &mut [i32],
) -> Result<(), ExecError> {
    // SAFETY: the caller promises that the communicator is valid, as an intracommunicator.
    unsafe { reduce_over_ranks(communicator, numbers, ffi::RSMPI_SUM) }
}

/// Computes the bitwise disjunction of each number over all ranks. Collective.
///
/// # Safety
///
/// `communicator` is a valid intracommunicator.
pub(crate) unsafe fn union_over_ranks(
    communicator: MPI_Comm,
    numbers: &mut [u64],
) -> Result<(), ExecError> {
    // SAFETY: the caller promises that the communicator is valid, as an intracommunicator.
    unsafe { reduce_over_ranks(communicator, numbers, ffi::RSMPI_BOR) }
}

/// # Safety
///
/// The communicator is valid.
unsafe fn reduce_over_ranks<N: Number>(
    communicator: MPI_Comm,
    numbers: &mut [N],
    operator: MPI_Op,
) -> Result<(), ExecError> {
    let mine = numbers.to_vec();
    let count = numbers.len() as c_int;
    // SAFETY: both have the same length. PMPI, since MPI's own name may be intercepted by us.
    check_code("MPI_Allreduce", unsafe {
        ffi::PMPI_Allreduce(
            mine.as_ptr().cast(),
            numbers.as_mut_ptr().cast(),
            count,
            N::datatype(),
            operator,
            communicator,
        )
    })
}

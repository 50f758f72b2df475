//! Checks of arguments, since MPI libraries that are built without checks crash.
//!
//! Only arguments that are the same on all ranks, or significant on this rank, are checked, so that everything that MPI
//! allows reaches the table. Handles that are not null are trusted.

use std::ffi::{c_int, c_void};

use exec::constants::{MPI_Comm, MPI_Datatype, in_place, no_operator};
use exec::is_named;
use mpi::ffi;
use runtime::{RawBlocks, RawCall, RawIrregularCall};
use schedule::Collective;

/// Checks the arguments. If one is invalid, calls the error handler and returns the error's class.
///
/// # Safety
///
/// Handles are valid or null, and `counts` has one count per rank or is null.
#[inline]
pub(crate) unsafe fn check_arguments(call: &RawCall, communicator: MPI_Comm) -> Option<c_int> {
    // SAFETY: constants of the library.
    let (nowhere, nothing) = unsafe { (ffi::RSMPI_COMM_NULL, ffi::RSMPI_DATATYPE_NULL) };
    let has_plain_data = || {
        call.root == 0
            && call.collective != Collective::ReduceScatter
            && call.recv_count >= 0
            && call.recv_type != nothing
            && !call.recv.is_null()
            && call.recv.cast_const() != in_place()
            && is_plain_input(call, nothing)
    };
    let is_plain = communicator != nowhere && (!call.collective.has_data() || has_plain_data());
    if is_plain {
        None
    } else {
        // SAFETY: the caller promises that handles are valid or null, and that `counts` has one count per rank or is
        // null.
        unsafe { check_thoroughly(call, communicator) }
    }
}

/// Whether the arguments of the sending side are valid without further checks.
#[inline]
fn is_plain_input(call: &RawCall, nothing: MPI_Datatype) -> bool {
    let is_whole = match call.collective {
        // Calls of the irregular ones are checked by `check_irregular`.
        Collective::Bcast
        | Collective::Barrier
        | Collective::Alltoallv
        | Collective::Alltoallw
        | Collective::Allgatherv
        | Collective::Gatherv
        | Collective::Scatterv => return true,
        Collective::Gather | Collective::Scatter | Collective::Allgather | Collective::Alltoall => {
            call.send_count >= 0 && call.send_type != nothing
        }
        Collective::Reduce
        | Collective::Allreduce
        | Collective::ReduceScatter
        | Collective::ReduceScatterBlock
        | Collective::Scan
        | Collective::Exscan => call.operator != no_operator(),
    };
    let is_a_buffer = !call.send.is_null() && call.send != in_place();
    is_whole && is_a_buffer && call.send != call.recv.cast_const()
}

/// # Safety
///
/// As of [`check_arguments`].
unsafe fn check_thoroughly(call: &RawCall, communicator: MPI_Comm) -> Option<c_int> {
    // SAFETY: the caller promises that the handles are valid or null, and that `counts` has one count per rank or is
    // null.
    unsafe { report_fault(communicator, || first_fault(call, communicator)) }
}

/// Calls the error handler if there is a fault, and returns the error's class.
///
/// # Safety
///
/// The communicator is valid or null; `find_fault` is called only if it is not null.
unsafe fn report_fault(
    communicator: MPI_Comm,
    find_fault: impl FnOnce() -> Option<u32>,
) -> Option<c_int> {
    if !exec::is_running() {
        // There is no error handler to call.
        return Some(ffi::MPI_ERR_OTHER as c_int);
    }
    // SAFETY: the caller promises that the communicator is valid or null. Errors without a communicator go to
    // MPI_COMM_SELF's handler (MPI 4.0, section 9.1).
    unsafe {
        if communicator == ffi::RSMPI_COMM_NULL {
            let class = ffi::MPI_ERR_COMM as c_int;
            ffi::PMPI_Comm_call_errhandler(ffi::RSMPI_COMM_SELF, class);
            return Some(class);
        }
        let class = find_fault()? as c_int;
        ffi::PMPI_Comm_call_errhandler(communicator, class);
        Some(class)
    }
}

/// The same as [`check_arguments`] for an irregular collective.
///
/// # Safety
///
/// Handles are valid or null, and arrays that are significant have one entry for each rank or are null.
pub(crate) unsafe fn check_irregular(
    call: &RawIrregularCall,
    communicator: MPI_Comm,
) -> Option<c_int> {
    // SAFETY: the caller promises that handles are valid or null, and arrays with one entry for each rank where they are
    // significant, unless they are null.
    unsafe { report_fault(communicator, || first_irregular_fault(call, communicator)) }
}

/// The error class of the first invalid argument.
///
/// # Safety
///
/// As of [`check_irregular`]; the communicator is not null.
unsafe fn first_irregular_fault(call: &RawIrregularCall, communicator: MPI_Comm) -> Option<u32> {
    let (mut is_inter, mut rank, mut ranks) = (0, 0, 0);
    // SAFETY: the caller promises that the communicator is valid and not null; the results are written by the calls.
    unsafe {
        ffi::PMPI_Comm_test_inter(communicator, &mut is_inter);
        ffi::PMPI_Comm_rank(communicator, &mut rank);
        ffi::PMPI_Comm_size(communicator, &mut ranks);
    }
    // On intercommunicators roots and buffers have other meanings, and the call is passed on.
    if is_inter != 0 {
        return None;
    }
    if !(0..ranks).contains(&call.root) {
        return Some(ffi::MPI_ERR_ROOT);
    }
    let significant = call.significant_buffers(rank);
    let sides = [
        (significant.send, call.send, &call.sent),
        (significant.recv, call.recv.cast_const(), &call.received),
    ];
    let significant_sides = sides
        .into_iter()
        .filter(|(is_significant, ..)| *is_significant);
    let mut faults = significant_sides.filter_map(|(_, buffer, blocks)| {
        if blocks.are_missing() {
            return Some(ffi::MPI_ERR_ARG);
        }
        if buffer == in_place() {
            return Some(ffi::MPI_ERR_BUFFER);
        }
        let number = match blocks {
            RawBlocks::One { .. } => 1,
            RawBlocks::OfRanks { .. } => ranks as usize,
        };
        // SAFETY: the caller promises as many entries, and types that are valid or null.
        let of_blocks = (0..number).map(|place| unsafe {
            match blocks.elements_at(place) {
                // No elements may have any type.
                (0, _) => None,
                // With `MPI_BOTTOM`, displacements may be addresses.
                (count, datatype) if buffer.is_null() && blocks.displacement_at(place) != 0 => {
                    fault_of_side(std::ptr::dangling::<u8>().cast(), count, datatype)
                }
                (count, datatype) => fault_of_side(buffer, count, datatype),
            }
        });
        of_blocks.flatten().next()
    });
    faults.next()
}

/// The error class of the first invalid argument.
///
/// # Safety
///
/// As of [`check_arguments`]; the communicator is not null.
unsafe fn first_fault(call: &RawCall, communicator: MPI_Comm) -> Option<u32> {
    let (mut is_inter, mut rank, mut ranks) = (0, 0, 0);
    // SAFETY: the caller promises that the communicator is valid and not null; the results are written by the calls.
    unsafe {
        ffi::PMPI_Comm_test_inter(communicator, &mut is_inter);
        ffi::PMPI_Comm_rank(communicator, &mut rank);
        ffi::PMPI_Comm_size(communicator, &mut ranks);
    }
    // On intercommunicators roots and buffers have other meanings, and the call is passed on.
    if is_inter != 0 {
        return None;
    }
    if !(0..ranks).contains(&call.root) {
        return Some(ffi::MPI_ERR_ROOT);
    }
    if call.collective.is_reduction() && call.operator == no_operator() {
        return Some(ffi::MPI_ERR_OP);
    }
    // SAFETY: the caller promises that `counts` has one count per rank or is null, and that datatypes are valid or
    // null.
    unsafe {
        let elements = match call.collective {
            Collective::ReduceScatter => largest_part(call, ranks),
            _ => Ok(call.recv_count),
        };
        match elements {
            Err(class) => Some(class),
            Ok(elements) => first_fault_of_sides(call, rank, elements),
        }
    }
}

/// The number of elements in the largest part. The caller needs to know only whether there are any.
///
/// # Safety
///
/// `counts` has one count per rank or is null.
unsafe fn largest_part(call: &RawCall, ranks: c_int) -> Result<i64, u32> {
    if call.counts.are_missing() {
        return Err(ffi::MPI_ERR_ARG);
    }
    // SAFETY: the caller promises one count per rank if `counts` is not null, which has just been checked.
    let counts = unsafe { call.part_counts(ranks) };
    if counts.iter().any(|count| count < 0) {
        Err(ffi::MPI_ERR_COUNT)
    } else {
        Ok(counts.iter().max().unwrap_or(0))
    }
}

/// The error class of an invalid argument of a side that is significant on this rank.
///
/// # Safety
///
/// Datatypes are valid or null.
unsafe fn first_fault_of_sides(call: &RawCall, rank: c_int, elements: i64) -> Option<u32> {
    let is_root = rank == call.root;
    let may_be_in_place = match call.collective {
        Collective::Reduce | Collective::Gather => is_root,
        Collective::Bcast
        | Collective::Scatter
        | Collective::Barrier
        | Collective::Alltoallv
        | Collective::Alltoallw
        | Collective::Allgatherv
        | Collective::Gatherv
        | Collective::Scatterv => false,
        Collective::Allreduce
        | Collective::Allgather
        | Collective::ReduceScatter
        | Collective::ReduceScatterBlock
        | Collective::Alltoall
        | Collective::Scan
        | Collective::Exscan => true,
    };
    let is_in_place = may_be_in_place && call.send == in_place();
    let sending = match call.collective {
        Collective::Bcast
        | Collective::Barrier
        | Collective::Alltoallv
        | Collective::Alltoallw
        | Collective::Allgatherv
        | Collective::Gatherv
        | Collective::Scatterv => None,
        Collective::Scatter if !is_root => None,
        _ if is_in_place => None,
        Collective::Gather | Collective::Scatter | Collective::Allgather | Collective::Alltoall => {
            Some((call.send, call.send_count, call.send_type))
        }
        Collective::Reduce
        | Collective::Allreduce
        | Collective::ReduceScatter
        | Collective::ReduceScatterBlock
        | Collective::Scan
        | Collective::Exscan => Some((call.send, elements, call.recv_type)),
    };
    let recv = call.recv.cast_const();
    let receiving = match call.collective {
        Collective::Barrier => None,
        Collective::Reduce | Collective::Gather if !is_root => None,
        Collective::Scatter if is_root && recv == in_place() => None,
        // The first rank has no result, but in place its input is there.
        Collective::Exscan if rank == 0 && !is_in_place => None,
        _ => Some((recv, elements, call.recv_type)),
    };
    // Elements of different datatypes may be in different places behind the same address.
    let are_alike = match sending {
        Some((_, count, datatype)) => count == elements && datatype == call.recv_type,
        None => false,
    };
    let is_aliased = are_alike && receiving.is_some() && call.send == recv && elements > 0;
    // SAFETY: the caller promises that datatypes are valid or null.
    let mut faults = [sending, receiving]
        .into_iter()
        .flatten()
        .filter_map(|(buffer, count, datatype)| unsafe { fault_of_side(buffer, count, datatype) });
    faults.next().or(is_aliased.then_some(ffi::MPI_ERR_BUFFER))
}

/// The error class of invalid arguments of one side.
///
/// # Safety
///
/// The datatype is valid or null.
unsafe fn fault_of_side(buffer: *const c_void, count: i64, datatype: MPI_Datatype) -> Option<u32> {
    // SAFETY: the caller promises that the datatype is valid or null; null is a constant of the library, and not looked
    // at further.
    unsafe {
        if count < 0 {
            Some(ffi::MPI_ERR_COUNT)
        } else if datatype == ffi::RSMPI_DATATYPE_NULL {
            Some(ffi::MPI_ERR_TYPE)
        } else if buffer == in_place() || (buffer.is_null() && count > 0 && !is_absolute(datatype))
        {
            Some(ffi::MPI_ERR_BUFFER)
        } else {
            None
        }
    }
}

/// Whether a datatype may contain absolute addresses, so that a null buffer is `MPI_BOTTOM`, or has no data.
///
/// # Safety
///
/// The datatype is valid.
unsafe fn is_absolute(datatype: MPI_Datatype) -> bool {
    let mut size = 0;
    // SAFETY: the caller promises that the datatype is valid; the result is written by the call.
    unsafe {
        ffi::PMPI_Type_size(datatype, &mut size);
        size == 0 || is_named(datatype) == Ok(false)
    }
}

//! The arguments of a call: its length, and their conversion for the executor.

use std::ffi::c_int;

use exec::constants::MPI_Datatype;
use exec::{Arguments, DatatypeHandle, Elements, ExecError, OperatorHandle, RawCall, check_code};
use mpi::ffi;
use schedule::Collective;

use crate::FallbackReason;

/// The elements that count for a call's length.
///
/// In data movement, ranks may describe equal data by different counts and datatypes; they agree only on the size of
/// the data in bytes.
#[inline(always)]
pub(crate) fn measured_elements(call: &RawCall, rank: c_int) -> (i64, MPI_Datatype) {
    let sends = match call.collective {
        Collective::Gather => call.root != rank,
        Collective::Scatter => call.root == rank,
        _ => false,
    };
    if sends {
        (call.send_count, call.send_type)
    } else {
        (call.recv_count, call.recv_type)
    }
}

/// Computes the length of a call in bytes, as [`table::message_size`] defines it, from arguments that are significant on
/// this rank and equal on all ranks. That of a barrier, which has no arguments, is 0.
///
/// # Errors
///
/// The inner error means that the call is left to the library, which will report wrong arguments, or has nothing to
/// do, which is never so in a barrier.
///
/// # Safety
///
/// The handles are valid, and `counts` has one count per rank where it is significant.
pub(crate) unsafe fn call_length(
    call: &RawCall,
    rank: c_int,
    ranks: c_int,
) -> Result<Result<u64, FallbackReason>, ExecError> {
    if !call.collective.has_data() {
        return Ok(Ok(0));
    }
    let (measured_count, datatype) = measured_elements(call, rank);
    // SAFETY: a constant that the library has set before `main`.
    let nothing = unsafe { ffi::RSMPI_DATATYPE_NULL };
    let is_named = (0..ranks).contains(&call.root);
    let is_negative = call.send_count < 0 || call.recv_count < 0;
    if datatype == nothing || !is_named || is_negative {
        return Ok(Err(FallbackReason::Invalid));
    }
    let mut elements = measured_count as u64;
    if call.collective == Collective::ReduceScatter {
        // SAFETY: the caller promises one count per rank where `counts` is significant, as it is in an
        // `MPI_Reduce_scatter`.
        let counts = unsafe { call.part_counts(ranks) };
        if counts.iter().any(|count| count < 0) {
            return Ok(Err(FallbackReason::Invalid));
        }
        elements = counts
            .iter()
            .fold(0, |sum: u64, count| sum.saturating_add(count as u64));
    }
    let mut size = 0;
    // SAFETY: a valid datatype; the result is written by the call.
    check_code("MPI_Type_size", unsafe {
        ffi::PMPI_Type_size(datatype, &mut size)
    })?;
    // MPI_UNDEFINED, a negative number, for sizes that do not fit into an int.
    let Ok(size) = u64::try_from(size) else {
        return Ok(Err(FallbackReason::TooLarge));
    };
    let bytes = elements.saturating_mul(size);
    let vector_bytes = if call.collective.is_sized_by_part() {
        bytes.saturating_mul(ranks as u64)
    } else {
        bytes
    };
    Ok(match bytes {
        0 => Err(FallbackReason::Empty),
        _ if vector_bytes > i32::MAX as u64 => Err(FallbackReason::TooLarge),
        _ => Ok(bytes),
    })
}

/// The arguments for the executor.
///
/// # Safety
///
/// The datatypes are valid and committed and the operator is valid where they are significant. They are blank
/// elsewhere, and none is freed while the result is in use.
pub(crate) unsafe fn executor_arguments<'a>(
    call: &RawCall,
    counts: &'a [u64],
) -> Result<Arguments<'a>, ExecError> {
    let root = call.root as u32;
    // SAFETY: the caller promises that a datatype that is not blank is committed and is not freed while the result is
    // in use.
    let elements = |count: i64, datatype: MPI_Datatype| unsafe {
        // A blank datatype is not used; it only has to be valid.
        let datatype = if datatype == ffi::RSMPI_DATATYPE_NULL {
            ffi::RSMPI_UINT8_T
        } else {
            datatype
        };
        Ok::<_, ExecError>(Elements {
            count: count as u64,
            datatype: DatatypeHandle::new(datatype)?,
        })
    };
    let send = elements(call.send_count, call.send_type)?;
    let data = elements(call.recv_count, call.recv_type)?;
    // SAFETY: the caller promises that an operator that is significant is valid while the result is in use; a blank one
    // is valid, too.
    let operator = unsafe { OperatorHandle::new(call.operator)? };
    Ok(match call.collective {
        Collective::Bcast => Arguments::Bcast { data, root },
        Collective::Allreduce => Arguments::Allreduce { data, operator },
        Collective::Reduce => Arguments::Reduce {
            data,
            operator,
            root,
        },
        Collective::Gather => Arguments::Gather {
            send,
            recv: data,
            root,
        },
        Collective::Scatter => Arguments::Scatter {
            send,
            recv: data,
            root,
        },
        Collective::Allgather => Arguments::Allgather { send, recv: data },
        Collective::ReduceScatter => Arguments::ReduceScatter {
            counts,
            datatype: data.datatype,
            operator,
        },
        Collective::ReduceScatterBlock => Arguments::ReduceScatterBlock {
            part: data,
            operator,
        },
        Collective::Alltoall => Arguments::Alltoall { send, recv: data },
        Collective::Barrier => Arguments::Barrier,
        Collective::Scan => Arguments::Scan { data, operator },
        Collective::Exscan => Arguments::Exscan { data, operator },
        // Tables have no rules for these, and no call of them is described as a `RawCall`.
        Collective::Alltoallv
        | Collective::Alltoallw
        | Collective::Allgatherv
        | Collective::Gatherv
        | Collective::Scatterv => {
            return Err(ExecError::UnknownAlgorithm(
                call.collective.name().to_owned(),
            ));
        }
    })
}

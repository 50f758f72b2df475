//! MPI's constants and return codes.

use std::ffi::{CStr, c_char, c_int};

use mpi::ffi;
use vocabulary::{Datatype, Library, Operator};

use crate::{ExecError, noncommutative};

/// Turns a return code into a result that names the call.
///
/// # Errors
///
/// [`ExecError::Mpi`], with the library's text for the code.
pub fn check_code(call: &'static str, code: c_int) -> Result<(), ExecError> {
    if code == 0 {
        Ok(())
    } else {
        Err(error_from_code(call, code))
    }
}

#[cold]
fn error_from_code(call: &'static str, code: c_int) -> ExecError {
    let mut text = [0 as c_char; ffi::MPI_MAX_ERROR_STRING as usize + 1];
    let mut length = 0;
    // SAFETY: `text` holds MPI_MAX_ERROR_STRING characters and stays zero-terminated.
    let message = unsafe {
        ffi::MPI_Error_string(code, text.as_mut_ptr(), &mut length);
        CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned()
    };
    ExecError::Mpi {
        call,
        code,
        message,
    }
}

/// The first line of the library's description of itself; needs no `MPI_Init`.
pub fn library_text() -> String {
    let text = library_description();
    text.lines().next().unwrap_or_default().trim().to_owned()
}

/// The library, by its description of itself.
pub fn identify_library() -> Library {
    libraries::library_from_description(&library_text())
}

/// Whether the library may report errors of calls on a communicator to the handler of `MPI_COMM_WORLD`, even if the
/// communicator has another handler. An unknown library may.
pub fn reports_to_world() -> bool {
    let library = libraries::described_by(&library_text());
    library.is_none_or(|known| known.facts().reports_to_world)
}

/// Longer than the description of any library.
const MOST_DESCRIBED: usize = 1 << 14;

/// The library's whole description of itself.
pub(crate) fn library_description() -> String {
    // SAFETY: a constant of the library.
    let room = unsafe { ffi::RSMPI_MAX_LIBRARY_VERSION_STRING } as usize;
    // If a library is preloaded into a program of another one, its texts may be longer than this constant: MPICH's
    // have up to 8192 characters.
    let room = room.max(MOST_DESCRIBED);
    let mut text = vec![0 as c_char; room + 1];
    let mut length = 0;
    // SAFETY: `text` has room for what the library may write and a final zero.
    unsafe {
        ffi::MPI_Get_library_version(text.as_mut_ptr(), &mut length);
        CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned()
    }
}

/// The library's handle of a datatype.
pub(crate) fn datatype_handle(datatype: Datatype) -> ffi::MPI_Datatype {
    // SAFETY: constants that the library has set before `main`.
    unsafe {
        match datatype {
            Datatype::Byte => ffi::RSMPI_UINT8_T,
            Datatype::Int8 => ffi::RSMPI_INT8_T,
            Datatype::Int32 => ffi::RSMPI_INT32_T,
            Datatype::Int64 => ffi::RSMPI_INT64_T,
            Datatype::Float32 => ffi::RSMPI_FLOAT,
            Datatype::Float64 => ffi::RSMPI_DOUBLE,
        }
    }
}

/// The library's handle of an operator on elements of a datatype.
pub(crate) fn operator_handle(
    operator: Operator,
    datatype: Datatype,
) -> Result<ffi::MPI_Op, ExecError> {
    // SAFETY: constants that the library has set before `main`.
    unsafe {
        match operator {
            Operator::Sum => Ok(ffi::RSMPI_SUM),
            Operator::Max => Ok(ffi::RSMPI_MAX),
            Operator::Noncommutative => noncommutative::library_operator(datatype),
        }
    }
}

/// The library's handle of the type of bytes that are moved.
pub(crate) fn byte_datatype() -> ffi::MPI_Datatype {
    datatype_handle(Datatype::Byte)
}

/// The status argument of calls that need no status.
pub(crate) fn status_ignore() -> *mut ffi::MPI_Status {
    // SAFETY: a constant of the library.
    unsafe { ffi::RSMPI_STATUS_IGNORE }
}

/// Whether MPI has been finalised, which invalidates all handles.
pub(crate) fn is_finalized() -> bool {
    let mut finalized = 0;
    // SAFETY: may be called at any time.
    unsafe { ffi::MPI_Finalized(&mut finalized) };
    finalized != 0
}

/// Whether MPI has been initialised and not yet finalised.
pub fn is_running() -> bool {
    let mut initialized = 0;
    // SAFETY: may be called at any time.
    unsafe { ffi::MPI_Initialized(&mut initialized) };
    initialized != 0 && !is_finalized()
}

/// The thread level that MPI provides.
///
/// # Errors
///
/// If MPI has not been initialised.
pub fn provided_thread_level() -> Result<c_int, ExecError> {
    let mut level = 0;
    // SAFETY: the result is written by the call.
    check_code("MPI_Query_thread", unsafe {
        ffi::PMPI_Query_thread(&mut level)
    })?;
    Ok(level)
}

/// Converts a length to an MPI count.
pub(crate) fn mpi_count(units: u64) -> Result<c_int, ExecError> {
    c_int::try_from(units).map_err(|_| ExecError::TooLarge { bytes: units })
}

/// Converts a length in bytes to a `usize`.
pub(crate) fn buffer_length(bytes: u64) -> Result<usize, ExecError> {
    let length = usize::try_from(bytes).ok();
    let length = length.filter(|length| *length <= isize::MAX as usize);
    length.ok_or(ExecError::TooLarge { bytes })
}

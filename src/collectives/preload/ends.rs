//! Intercepted `MPI_Init`, `MPI_Finalize` and their variants.

use std::ffi::{c_char, c_int};

use crate::chain::chained;
use crate::lifetime::{has_started, start_using_table, stop_using_table};
use crate::record::{finish_recording, prepare_recording, start_recording};

type Count = *mut c_int;
type Words = *mut *mut *mut c_char;

chained! {
    LINKS:
    /// `MPI_Init`.
    MPI_Init PMPI_Init (argc: Count, argv: Words) init;
    /// `MPI_Init_thread`.
    MPI_Init_thread PMPI_Init_thread
    (argc: Count, argv: Words, required: c_int, provided: *mut c_int) init_thread;
    /// `MPI_Finalize`.
    MPI_Finalize PMPI_Finalize () finalize;
}

/// Starts what this library does, once MPI has been initialised. Collective over `MPI_COMM_WORLD`.
fn start() {
    let is_first_start = !has_started();
    start_using_table();
    // Last, so that the calls by which ranks agree on a table are not recorded.
    if is_first_start {
        start_recording(prepare_recording());
    }
}

/// # Safety
///
/// As MPI asks of the call; `library` is the MPI library's function for it.
unsafe fn init(
    library: unsafe extern "C" fn(Count, Words) -> c_int,
    argc: Count,
    argv: Words,
) -> c_int {
    // SAFETY: the caller promises that `library` is the function for this call, with arguments as MPI asks.
    let code = unsafe { library(argc, argv) };
    if code == 0 {
        start();
    }
    code
}

/// # Safety
///
/// As MPI asks of the call; `library` is the MPI library's function for it.
unsafe fn init_thread(
    library: unsafe extern "C" fn(Count, Words, c_int, *mut c_int) -> c_int,
    argc: Count,
    argv: Words,
    required: c_int,
    provided: *mut c_int,
) -> c_int {
    // SAFETY: the caller promises that `library` is the function for this call, with arguments as MPI asks.
    let code = unsafe { library(argc, argv, required, provided) };
    if code == 0 {
        start();
    }
    code
}

/// # Safety
///
/// As MPI asks of the call; `library` is the MPI library's function for it.
unsafe fn finalize(library: unsafe extern "C" fn() -> c_int) -> c_int {
    finish_recording();
    stop_using_table();
    // SAFETY: the caller promises that `library` is the MPI library's `MPI_Finalize`, and that the program may call
    // that.
    unsafe { library() }
}

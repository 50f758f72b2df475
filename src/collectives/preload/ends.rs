//! Intercepted `MPI_Init`, `MPI_Finalize` and their variants.

use std::ffi::{c_char, c_int};

use crate::chain::chained;
use crate::lifetime::{start_using_table, stop_using_table};

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
        start_using_table();
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
        start_using_table();
    }
    code
}

/// # Safety
///
/// As MPI asks of the call; `library` is the MPI library's function for it.
unsafe fn finalize(library: unsafe extern "C" fn() -> c_int) -> c_int {
    stop_using_table();
    // SAFETY: the caller promises that `library` is the MPI library's `MPI_Finalize`, and that the program may call
    // that.
    unsafe { library() }
}

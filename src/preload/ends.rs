//! Intercepted `MPI_Init`, `MPI_Finalize` and their variants.

use std::ffi::{c_char, c_int};

use crate::lifetime::{end, start};

unsafe extern "C" {
    fn PMPI_Init(argc: *mut c_int, argv: *mut *mut *mut c_char) -> c_int;
    fn PMPI_Init_thread(
        argc: *mut c_int,
        argv: *mut *mut *mut c_char,
        required: c_int,
        provided: *mut c_int,
    ) -> c_int;
    fn PMPI_Finalize() -> c_int;
}

/// `MPI_Init`.
///
/// # Safety
///
/// MPI's own conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Init(argc: *mut c_int, argv: *mut *mut *mut c_char) -> c_int {
    // SAFETY: the caller's.
    let code = unsafe { PMPI_Init(argc, argv) };
    if code == 0 {
        start();
    }
    code
}

/// `MPI_Init_thread`.
///
/// # Safety
///
/// MPI's own conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Init_thread(
    argc: *mut c_int,
    argv: *mut *mut *mut c_char,
    required: c_int,
    provided: *mut c_int,
) -> c_int {
    // SAFETY: the caller's.
    let code = unsafe { PMPI_Init_thread(argc, argv, required, provided) };
    if code == 0 {
        start();
    }
    code
}

/// `MPI_Finalize`.
///
/// # Safety
///
/// MPI's own conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Finalize() -> c_int {
    end();
    // SAFETY: the caller's.
    unsafe { PMPI_Finalize() }
}

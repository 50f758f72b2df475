//! Open MPI's Fortran interface. Its calls do not go through MPI's C names, unlike MPICH's.
//!
//! `mpif.h` and `use mpi` call `mpi_bcast_` and the like, `use mpi_f08` calls `ompi_bcast_f`. All arguments are
//! addresses.

use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

use capi::other_library;
use exec::constants::in_place;
use mpi::ffi;

use crate::ends::{MPI_Finalize, MPI_Init, MPI_Init_thread};
use crate::handle::Handle;
use crate::hooks::{
    MPI_Allgather, MPI_Allreduce, MPI_Bcast, MPI_Gather, MPI_Reduce, MPI_Reduce_scatter,
    MPI_Reduce_scatter_block, MPI_Scatter,
};

/// The address of an argument.
type At = *mut c_void;

/// Defines both names of a call; the second one is that of the newer interface. The last argument is the address of
/// the error code. In a program of another library both pass the call on to the function that they hide.
macro_rules! fortran {
    ($(#[$doc:meta])* $name:ident, $newer:ident, ($($argument:ident),*), $call:expr) => {
        $(#[$doc])*
        ///
        /// # Safety
        ///
        /// MPI's own conditions.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: At,)* error: At) {
            // SAFETY: the caller's; the hidden function has the same arguments.
            unsafe {
                if is_of_another_library() {
                    if let Some(hidden) = hidden(concat!(stringify!($name), "\0")) {
                        type Hidden = unsafe extern "C" fn($(fortran!(@ $argument),)* At);
                        std::mem::transmute::<*const c_void, Hidden>(hidden)($($argument,)* error);
                    }
                    return;
                }
                let code: c_int = $call;
                error.cast::<c_int>().write(code);
            }
        }

        $(#[$doc])*
        ///
        /// # Safety
        ///
        /// MPI's own conditions.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $newer($($argument: At,)* error: At) {
            // SAFETY: the caller's.
            unsafe { $name($($argument,)* error) }
        }
    };
    (@ $argument:ident) => { At };
}

fortran!(
    /// `MPI_Init`.
    mpi_init_,
    ompi_init_f,
    (),
    MPI_Init(std::ptr::null_mut(), std::ptr::null_mut())
);

fortran!(
    /// `MPI_Init_thread`.
    mpi_init_thread_,
    ompi_init_thread_f,
    (required, provided),
    MPI_Init_thread(
        std::ptr::null_mut(),
        std::ptr::null_mut(),
        int(required),
        provided.cast()
    )
);

fortran!(
    /// `MPI_Finalize`.
    mpi_finalize_,
    ompi_finalize_f,
    (),
    MPI_Finalize()
);

/// Converts an argument to C.
macro_rules! in_c {
    (Int $argument:ident) => {
        int($argument)
    };
    (Type $argument:ident) => {
        kind($argument)
    };
    (Operator $argument:ident) => {
        operator($argument)
    };
    (Counts $argument:ident) => {
        $argument.cast()
    };
    ($buffer:ident $argument:ident) => {
        buffer($argument)
    };
}

macro_rules! collectives {
    ($(
        $name:ident $library:ident $ours:ident [$fortran:ident $newer:ident]
        ($($argument:ident: $kind:ident),*; $communicator:ident) $call:expr;
    )*) => {$(
        fortran!(
            #[doc = concat!("`", stringify!($name), "`.")]
            $fortran,
            $newer,
            ($($argument,)* $communicator),
            $name($(in_c!($kind $argument),)* communicator($communicator))
        );
    )*};
}

capi::for_each_collective!(
    collectives,
    [mpi_bcast_ ompi_bcast_f]
    [mpi_reduce_ ompi_reduce_f]
    [mpi_allreduce_ ompi_allreduce_f]
    [mpi_gather_ ompi_gather_f]
    [mpi_scatter_ ompi_scatter_f]
    [mpi_allgather_ ompi_allgather_f]
    [mpi_reduce_scatter_ ompi_reduce_scatter_f]
    [mpi_reduce_scatter_block_ ompi_reduce_scatter_block_f]
);

/// Whether the program uses another library, with other handles than this build's.
fn is_of_another_library() -> bool {
    static OTHER: OnceLock<bool> = OnceLock::new();
    *OTHER.get_or_init(|| other_library().is_some())
}

/// The function of the next library that one of our names hides. The name ends in zero.
fn hidden(name: &'static str) -> Option<*const c_void> {
    let name = CStr::from_bytes_with_nul(name.as_bytes()).ok()?;
    // SAFETY: a text that ends in zero.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    (!found.is_null()).then_some(found.cast_const())
}

/// Converts the address of a buffer, which may be a special constant.
fn buffer(address: At) -> At {
    static SPECIAL: OnceLock<[usize; 2]> = OnceLock::new();
    let find = |name: &CStr| {
        // SAFETY: a text that ends in zero.
        unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()).addr() }
    };
    let special =
        SPECIAL.get_or_init(|| [find(c"mpi_fortran_in_place_"), find(c"mpi_fortran_bottom_")]);
    match address.addr() {
        0 => address,
        place if place == special[0] => in_place().cast_mut(),
        // MPI_BOTTOM.
        place if place == special[1] => std::ptr::null_mut(),
        _ => address,
    }
}

/// # Safety
///
/// An integer's address.
unsafe fn int(at: At) -> c_int {
    // SAFETY: the caller's.
    unsafe { at.cast::<c_int>().read() }
}

/// # Safety
///
/// The address of a datatype's handle in Fortran.
unsafe fn kind(at: At) -> Handle {
    // SAFETY: the caller's.
    Handle::from_raw(unsafe { ffi::RSMPI_Type_f2c(int(at)) })
}

/// # Safety
///
/// The address of an operator's handle in Fortran.
unsafe fn operator(at: At) -> Handle {
    // SAFETY: the caller's.
    Handle::from_raw(unsafe { ffi::RSMPI_Op_f2c(int(at)) })
}

/// # Safety
///
/// The address of a communicator's handle in Fortran.
unsafe fn communicator(at: At) -> Handle {
    // SAFETY: the caller's.
    Handle::from_raw(unsafe { ffi::RSMPI_Comm_f2c(int(at)) })
}

//! The collectives of `include/colltune.h`.

use std::ffi::{c_int, c_void};

use exec::constants::{MPI_Comm, MPI_Datatype, MPI_Op};
use mpi::ffi;
use runtime::RawCall;
use schedule::Collective;

use crate::check::check_arguments;
use crate::header::CTable;

// Short names for the kinds of arguments.
type Input = *const c_void;
type Output = *mut c_void;
type Int = c_int;
type Root = c_int;
type Counts = *const c_int;
type Type = MPI_Datatype;
type Operator = MPI_Op;

/// # Safety
///
/// The table is null or one of `colltune_load`'s, and MPI's conditions hold.
unsafe fn call(table: *const CTable, communicator: MPI_Comm, call: &RawCall) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        if let Some(class) = check_arguments(call, communicator) {
            return class;
        }
        match table.as_ref() {
            Some(table) => table.dispatcher.call(communicator, *call),
            None if exec::is_running() => call.forward(communicator),
            // There is no library to pass the call on to, and no error handler.
            None => ffi::MPI_ERR_OTHER as c_int,
        }
    }
}

macro_rules! define {
    ($(
        $name:ident $library:ident $ours:ident []
        ($($argument:ident: $kind:ident),*; $communicator:ident) $call:expr;
    )*) => {$(
        /// See `include/colltune.h`.
        ///
        /// # Safety
        ///
        /// MPI's conditions, and those of the header.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $ours(
            table: *const CTable,
            $($argument: $kind,)*
            $communicator: MPI_Comm,
        ) -> c_int {
            let raw = $call;
            // SAFETY: the caller's.
            unsafe { call(table, $communicator, &raw) }
        }
    )*};
}

crate::for_each_collective!(define);

//! The collectives of `include/colltune.h`.

use std::ffi::{c_int, c_void};

use exec::constants::{MPI_Comm, MPI_Datatype, MPI_Op};
use mpi::ffi;
use runtime::{RawBlocks, RawCall, RawIrregularCall};
use schedule::Collective;

use crate::check::{check_arguments, check_irregular};
use crate::header::CTable;

// Short names for the kinds of arguments.
type Input = *const c_void;
type Output = *mut c_void;
type Int = c_int;
type Root = c_int;
type Counts = *const c_int;
type Places = *const c_int;
type Types = *const MPI_Datatype;
type Type = MPI_Datatype;
type Operator = MPI_Op;

/// # Safety
///
/// The table is null or one of `colltune_load`'s that has not been freed. The arguments are as MPI asks of the call, or
/// such that `check_arguments` finds them to be wrong: handles are valid or null, and `counts` has one count per rank
/// or is null.
unsafe fn call(table: *const CTable, communicator: MPI_Comm, call: &RawCall) -> c_int {
    // SAFETY: the caller promises that handles are valid or null and `counts` has one count per rank or is null, that
    // other arguments are as MPI asks of the call once `check_arguments` finds no fault, and that the table is null or
    // not freed.
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

/// # Safety
///
/// As for [`call`]; arrays that are significant have one entry for each rank or are null.
unsafe fn call_irregular(
    table: *const CTable,
    communicator: MPI_Comm,
    call: &RawIrregularCall,
) -> c_int {
    // SAFETY: the caller promises that handles are valid or null and arrays have one entry for each rank or are null, that
    // other arguments are as MPI asks of the call once `check_irregular` finds no fault, and that the table is null or
    // not freed.
    unsafe {
        if let Some(class) = check_irregular(call, communicator) {
            return class;
        }
        match table.as_ref() {
            Some(table) => table.dispatcher.call_irregular(communicator, call),
            None => call.forward(communicator),
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
        /// The table is null or one of `colltune_load`'s that has not been freed. The arguments are as MPI asks of the
        /// call, or such that the header names an error for them: handles are valid or null, and `counts` has one count
        /// per rank or is null.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $ours(
            table: *const CTable,
            $($argument: $kind,)*
            $communicator: MPI_Comm,
        ) -> c_int {
            let raw = $call;
            // SAFETY: the caller promises that the table is null or not freed, that handles are valid or null, and that
            // other arguments are as MPI asks or such that the header names an error for them.
            unsafe { call(table, $communicator, &raw) }
        }
    )*};
}

crate::for_each_collective!(define);

macro_rules! define_irregular {
    ($(
        $name:ident $library:ident $ours:ident []
        ($($argument:ident: $kind:ident),*; $communicator:ident) $call:expr;
    )*) => {$(
        /// See `include/colltune.h`.
        ///
        /// # Safety
        ///
        /// The table is null or one of `colltune_load`'s that has not been freed. The arguments are as MPI asks of the
        /// call, or such that the header names an error for them: handles are valid or null, and arrays that are
        /// significant have one entry for each rank or are null.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $ours(
            table: *const CTable,
            $($argument: $kind,)*
            $communicator: MPI_Comm,
        ) -> c_int {
            let raw = $call;
            // SAFETY: the caller promises that the table is null or not freed, that handles are valid or null and arrays
            // have one entry for each rank or are null, and that other arguments are as MPI asks or such that the header
            // names an error for them.
            unsafe { call_irregular(table, $communicator, &raw) }
        }
    )*};
}

crate::for_each_irregular!(define_irregular);

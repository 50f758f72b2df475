//! MPI's own types and the constants that its bindings lack, for libraries that take the place of
//! MPI calls.

use std::ffi::{c_int, c_void};

use mpi::ffi;
pub use mpi::ffi::{MPI_Comm, MPI_Datatype, MPI_Op};

// `shim.c`, compiled with the library's own compiler: there the constants are macros.
unsafe extern "C" {
    safe fn colltune_in_place() -> *const c_void;
    safe fn colltune_double_int() -> ffi::MPI_Datatype;
    safe fn colltune_minloc() -> ffi::MPI_Op;
    safe fn colltune_class(datatype: ffi::MPI_Datatype) -> c_int;
}

/// `MPI_IN_PLACE`, as it comes in place of a buffer.
pub fn in_place() -> *const c_void {
    colltune_in_place()
}

/// `MPI_DOUBLE_INT`: a pair of a value and a place, with a gap at its end.
pub fn double_int() -> MPI_Datatype {
    colltune_double_int()
}

/// `MPI_MINLOC`: the least value of pairs, and the least place where it is found.
pub fn minloc() -> MPI_Op {
    colltune_minloc()
}

/// How built-in operators read a named datatype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Signed,
    Unsigned,
    Floating,
    Other,
}

pub(crate) fn class(datatype: MPI_Datatype) -> Class {
    match colltune_class(datatype) {
        1 => Class::Signed,
        2 => Class::Unsigned,
        3 => Class::Floating,
        _ => Class::Other,
    }
}

//! MPI's own types, and constants that the bindings lack, for libraries that intercept MPI calls.

use std::ffi::{c_int, c_void};

use mpi::ffi;
pub use mpi::ffi::{MPI_Comm, MPI_Datatype, MPI_Op};

// Compiled from `shim.c` with the library's own compiler, as the constants are macros in C.
unsafe extern "C" {
    safe static colltune_in_place: *const c_void;
    safe fn colltune_double_int() -> ffi::MPI_Datatype;
    safe fn colltune_minloc() -> ffi::MPI_Op;
    safe fn colltune_is_predefined(operator: ffi::MPI_Op) -> c_int;
    safe fn colltune_locates(operator: ffi::MPI_Op, datatype: ffi::MPI_Datatype) -> c_int;
    safe fn colltune_class(datatype: ffi::MPI_Datatype) -> c_int;
}

/// `MPI_IN_PLACE`, as a buffer argument.
#[inline]
pub fn in_place() -> *const c_void {
    colltune_in_place
}

/// `MPI_DOUBLE_INT`: pairs of a value and an index, with a gap at the end.
pub fn double_int() -> MPI_Datatype {
    colltune_double_int()
}

/// `MPI_MINLOC`: the least value of pairs, with the least index where it occurs.
pub fn minloc() -> MPI_Op {
    colltune_minloc()
}

/// Whether MPI predefines an operator.
pub fn is_predefined(operator: MPI_Op) -> bool {
    colltune_is_predefined(operator) != 0
}

/// Whether an operator is `MPI_MAXLOC` or `MPI_MINLOC` and a datatype one of C's pairs of a value and an index.
pub fn locates(operator: MPI_Op, datatype: MPI_Datatype) -> bool {
    colltune_locates(operator, datatype) != 0
}

/// The interpretation of a named datatype by the built-in operators.
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

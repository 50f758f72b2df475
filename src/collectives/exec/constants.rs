//! MPI's own types, and constants that the bindings lack, for libraries that intercept MPI calls.

use std::ffi::{CStr, c_char, c_int, c_void};

use mpi::ffi;
pub use mpi::ffi::{MPI_Comm, MPI_Datatype, MPI_Op};

use crate::kernel::BuiltIn;

// Compiled from `shim.c` with the library's own compiler, as the constants are macros in C.
unsafe extern "C" {
    safe static colltune_in_place: *const c_void;
    safe fn colltune_double_int() -> ffi::MPI_Datatype;
    safe fn colltune_minloc() -> ffi::MPI_Op;
    safe fn colltune_no_operator() -> ffi::MPI_Op;
    safe fn colltune_is_predefined(operator: ffi::MPI_Op) -> c_int;
    safe fn colltune_operator_name(operator: ffi::MPI_Op) -> *const c_char;
    safe fn colltune_datatype_name(datatype: ffi::MPI_Datatype) -> *const c_char;
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

/// `MPI_OP_NULL`.
pub fn no_operator() -> MPI_Op {
    colltune_no_operator()
}

/// Whether MPI predefines an operator.
pub fn is_predefined(operator: MPI_Op) -> bool {
    colltune_is_predefined(operator) != 0
}

/// The name of an operator that MPI predefines.
pub fn operator_name(operator: MPI_Op) -> Option<&'static str> {
    constant_text(colltune_operator_name(operator))
}

/// The name of a datatype that MPI predefines.
pub fn datatype_name(datatype: MPI_Datatype) -> Option<&'static str> {
    constant_text(colltune_datatype_name(datatype))
}

/// A constant of `shim.c`, or null.
fn constant_text(name: *const c_char) -> Option<&'static str> {
    if name.is_null() {
        return None;
    }
    // SAFETY: a constant text.
    unsafe { CStr::from_ptr(name) }.to_str().ok()
}

/// The groups of datatypes for which MPI defines its operators alike (MPI 4.0, sections 6.9.2 and 6.9.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// C's signed integers.
    Signed,
    /// C's unsigned integers.
    Unsigned,
    Floating,
    FortranInteger,
    /// Signed integers that languages share: `MPI_AINT`, `MPI_OFFSET` and `MPI_COUNT`.
    Address,
    Complex,
    /// C's, C++'s and Fortran's truth values.
    Logical,
    Byte,
    /// A value and an index.
    Pair,
    /// Derived types, and those without operators.
    Other,
}

pub(crate) fn datatype_class(datatype: MPI_Datatype) -> Class {
    match colltune_class(datatype) {
        1 => Class::Signed,
        2 => Class::Unsigned,
        3 => Class::Floating,
        4 => Class::FortranInteger,
        5 => Class::Address,
        6 => Class::Complex,
        7 => Class::Logical,
        8 => Class::Byte,
        9 => Class::Pair,
        _ => Class::Other,
    }
}

/// Whether MPI defines an operator for a datatype: its own ones for some named types, the program's own operators for
/// all. Libraries may define more, and lack some.
pub fn is_defined(operator: MPI_Op, datatype: MPI_Datatype) -> bool {
    if !is_predefined(operator) {
        return true;
    }
    let class = datatype_class(datatype);
    match built_in(operator) {
        // MPI_MAXLOC and MPI_MINLOC; others combine nothing.
        None => class == Class::Pair && operator_name(operator).is_some_and(|n| n.ends_with("LOC")),
        Some(BuiltIn::Sum | BuiltIn::Product) => class.is_number() || class == Class::Complex,
        Some(BuiltIn::Minimum | BuiltIn::Maximum) => class.is_number(),
        Some(BuiltIn::LogicalAnd | BuiltIn::LogicalOr | BuiltIn::LogicalXor) => {
            matches!(class, Class::Signed | Class::Unsigned | Class::Logical)
        }
        Some(BuiltIn::BitAnd | BuiltIn::BitOr | BuiltIn::BitXor) => {
            class.is_integer() || class == Class::Byte
        }
    }
}

impl Class {
    fn is_integer(self) -> bool {
        use Class::{Address, FortranInteger, Signed, Unsigned};
        matches!(self, Signed | Unsigned | FortranInteger | Address)
    }

    fn is_number(self) -> bool {
        self.is_integer() || self == Self::Floating
    }
}

/// The corresponding built-in operator, if our loops know it.
pub(crate) fn built_in(operator: MPI_Op) -> Option<BuiltIn> {
    // SAFETY: constants that the library has set before `main`.
    let known = unsafe {
        [
            (ffi::RSMPI_SUM, BuiltIn::Sum),
            (ffi::RSMPI_PROD, BuiltIn::Product),
            (ffi::RSMPI_MIN, BuiltIn::Minimum),
            (ffi::RSMPI_MAX, BuiltIn::Maximum),
            (ffi::RSMPI_LAND, BuiltIn::LogicalAnd),
            (ffi::RSMPI_LOR, BuiltIn::LogicalOr),
            (ffi::RSMPI_LXOR, BuiltIn::LogicalXor),
            (ffi::RSMPI_BAND, BuiltIn::BitAnd),
            (ffi::RSMPI_BOR, BuiltIn::BitOr),
            (ffi::RSMPI_BXOR, BuiltIn::BitXor),
        ]
    };
    let mut known = known.into_iter();
    let found = known.find(|(raw, _)| *raw == operator);
    found.map(|(_, built_in)| built_in)
}

//! The sizes of predefined datatypes.

use exec::constants::MPI_Datatype;
use exec::{is_named, size_of_datatype};
use mpi::ffi;

/// Predefined datatypes that calls on a communicator have used, with their sizes. They are never freed, so the library is
/// asked about each once: it takes longer to answer than a short call may lose.
#[derive(Debug, Default)]
pub(crate) struct PredefinedTypes {
    known: Vec<PredefinedType>,
}

#[derive(Clone, Copy, Debug)]
struct PredefinedType {
    datatype: MPI_Datatype,
    bytes: u64,
}

impl PredefinedTypes {
    /// The size of a datatype in bytes if it is predefined; `None` if it is the program's own, or null.
    ///
    /// # Safety
    ///
    /// The datatype is null or valid.
    pub(crate) unsafe fn bytes_if_predefined(&mut self, datatype: MPI_Datatype) -> Option<u64> {
        if let Some(known) = self.known.iter().find(|known| known.datatype == datatype) {
            return Some(known.bytes);
        }
        // SAFETY: a constant of the library.
        if datatype == unsafe { ffi::RSMPI_DATATYPE_NULL } {
            return None;
        }
        // SAFETY: the caller promises that the datatype is valid if it is not null, which has just been checked.
        let bytes = unsafe {
            if !is_named(datatype).unwrap_or(false) {
                return None;
            }
            size_of_datatype(datatype)
        };
        self.known.push(PredefinedType { datatype, bytes });
        Some(bytes)
    }

    /// The size of a datatype's data in bytes; 0 if the library cannot tell it.
    ///
    /// # Safety
    ///
    /// The datatype is valid.
    pub(crate) unsafe fn bytes_of(&mut self, datatype: MPI_Datatype) -> u64 {
        // SAFETY: the caller promises that the datatype is valid.
        unsafe {
            self.bytes_if_predefined(datatype)
                .unwrap_or_else(|| size_of_datatype(datatype))
        }
    }
}

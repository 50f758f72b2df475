//! Handles of any MPI library.

use exec::constants::{MPI_Comm, MPI_Datatype, MPI_Op};
use mpi::ffi::{MPI_Group, MPI_Request};

/// A handle of the MPI library that the program runs with, as a number of the width of a register. So a call can be
/// passed on unchanged even to another library than the one that this was built for. An integer handle is the lower
/// half.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Handle(usize);

impl From<usize> for Handle {
    /// The handle in a register.
    #[inline]
    fn from(register: usize) -> Self {
        Self(register)
    }
}

impl Handle {
    /// Converts the handle to the type of this build's library.
    #[inline]
    fn convert_to<Raw: Copy>(self) -> Raw {
        const {
            assert!(size_of::<Raw>() <= size_of::<usize>() && cfg!(target_endian = "little"));
        }
        // SAFETY: an integer or an address, in the register's lower part.
        unsafe { std::mem::transmute_copy(&self.0) }
    }

    #[inline]
    pub(crate) fn communicator(self) -> MPI_Comm {
        self.convert_to()
    }

    #[inline]
    pub(crate) fn group(self) -> MPI_Group {
        self.convert_to()
    }

    #[inline]
    pub(crate) fn datatype(self) -> MPI_Datatype {
        self.convert_to()
    }

    #[inline]
    pub(crate) fn request(self) -> MPI_Request {
        self.convert_to()
    }

    #[inline]
    pub(crate) fn operator(self) -> MPI_Op {
        self.convert_to()
    }
}

//! Datatypes that we make for messages in two pieces.

use std::ffi::c_int;

use mpi::ffi;

use crate::ExecError;
use crate::api::{check, is_finalized};
use crate::unit::Unit;

/// A committed datatype; freed when dropped.
#[derive(Debug)]
pub(crate) struct Derived {
    raw: ffi::MPI_Datatype,
}

impl Derived {
    /// Two pieces of a memory, each `(start, length)` in bytes, as one element at its beginning.
    pub(crate) fn of_pieces(unit: &Unit, pieces: [(usize, usize); 2]) -> Result<Self, ExecError> {
        let [first, second] = pieces;
        let lengths = [unit.count(first.1)?, unit.count(second.1)?];
        let starts = [first.0, second.0].map(|start| start as ffi::MPI_Aint);
        Self::new(&lengths, &starts, unit.datatype)
    }

    /// Elements of a datatype, at a distance in bytes from where they are said to begin, as one element.
    pub(crate) fn of_elements(
        elements: c_int,
        displacement: ffi::MPI_Aint,
        datatype: ffi::MPI_Datatype,
    ) -> Result<Self, ExecError> {
        Self::new(&[elements], &[displacement], datatype)
    }

    fn new<const PIECES: usize>(
        lengths: &[c_int; PIECES],
        starts: &[ffi::MPI_Aint; PIECES],
        datatype: ffi::MPI_Datatype,
    ) -> Result<Self, ExecError> {
        let (count, lengths, starts) = (PIECES as c_int, lengths.as_ptr(), starts.as_ptr());
        // SAFETY: both arrays have `count` elements; the handle is written by the first call.
        unsafe {
            let mut raw = ffi::RSMPI_DATATYPE_NULL;
            let code = ffi::MPI_Type_create_hindexed(count, lengths, starts, datatype, &mut raw);
            check("MPI_Type_create_hindexed", code)?;
            let derived = Self { raw };
            check("MPI_Type_commit", ffi::MPI_Type_commit(&mut raw))?;
            Ok(derived)
        }
    }

    pub(crate) fn raw(&self) -> ffi::MPI_Datatype {
        self.raw
    }
}

impl Drop for Derived {
    fn drop(&mut self) {
        if !is_finalized() {
            // SAFETY: the handle is ours; messages that use it may still be under way.
            unsafe { ffi::MPI_Type_free(&mut self.raw) };
        }
    }
}

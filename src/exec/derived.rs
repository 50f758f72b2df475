//! Datatypes that we make for messages in pieces.

use std::ffi::c_int;

use mpi::ffi;
use schedule::Run;

use crate::ExecError;
use crate::api::{check, count, is_finalized};
use crate::unit::Unit;

/// A committed datatype; freed when dropped.
#[derive(Debug)]
pub(crate) struct Derived {
    raw: ffi::MPI_Datatype,
}

impl Derived {
    /// Pieces of a memory, in bytes, as one element at its beginning.
    pub(crate) fn of_runs(unit: &Unit, runs: [Run; 2]) -> Result<Self, ExecError> {
        let pieces = || runs.into_iter().flat_map(Run::pieces);
        let lengths = pieces().map(|piece| unit.count((piece.end - piece.start) as usize));
        let lengths: Vec<_> = lengths.collect::<Result<_, _>>()?;
        let starts: Vec<_> = pieces().map(|piece| piece.start as ffi::MPI_Aint).collect();
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

    /// As many pieces as there are lengths and starts, which are as many.
    fn new(
        lengths: &[c_int],
        starts: &[ffi::MPI_Aint],
        datatype: ffi::MPI_Datatype,
    ) -> Result<Self, ExecError> {
        debug_assert_eq!(lengths.len(), starts.len());
        let count = count(lengths.len() as u64)?;
        let (lengths, starts) = (lengths.as_ptr(), starts.as_ptr());
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

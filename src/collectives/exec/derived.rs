//! Datatypes that we create for messages in pieces.

use std::ffi::c_int;

use mpi::ffi;
use schedule::Run;

use crate::ExecError;
use crate::api::{check_code, is_finalized, mpi_count};
use crate::unit::Unit;

/// A datatype that we created; freed when dropped.
#[derive(Debug)]
pub(crate) struct DerivedDatatype {
    raw: ffi::MPI_Datatype,
}

impl DerivedDatatype {
    /// A datatype with one element, made of pieces of a buffer, with offsets in bytes from the buffer's start.
    // Long programs make such datatypes in every round, so nothing is allocated here.
    pub(crate) fn from_runs(unit: &Unit, runs: [Run; 2]) -> Result<Self, ExecError> {
        let lengths = [
            unit.message_count(runs[0].length as usize)?,
            unit.message_count(runs[1].length as usize)?,
        ];
        let starts = runs.map(|run| run.start as ffi::MPI_Aint);
        if runs.iter().all(|run| run.count <= 1) {
            return Self::from_blocks(&lengths, &starts, unit.datatype);
        }
        let [first, second] = runs;
        let vectors = [
            Self::vector_from_run(first, lengths[0], unit.datatype)?,
            Self::vector_from_run(second, lengths[1], unit.datatype)?,
        ];
        let datatypes = vectors.each_ref().map(Self::raw);
        let one_each = [1; 2];
        // SAFETY: the arrays have two elements; the handle is written by the call.
        unsafe {
            let mut raw = ffi::RSMPI_DATATYPE_NULL;
            let code = ffi::MPI_Type_create_struct(
                2,
                one_each.as_ptr(),
                starts.as_ptr(),
                datatypes.as_ptr(),
                &mut raw,
            );
            check_code("MPI_Type_create_struct", code)?;
            Self::commit_raw(raw)
        }
    }

    /// A vector datatype of the pieces of a run, each of `elements` elements, starting at the first piece. Not
    /// committed, as it is only used inside other datatypes.
    fn vector_from_run(
        run: Run,
        elements: c_int,
        datatype: ffi::MPI_Datatype,
    ) -> Result<Self, ExecError> {
        let (pieces, stride) = (mpi_count(run.count)?, run.stride as ffi::MPI_Aint);
        // SAFETY: the handle is written by the call.
        unsafe {
            let mut raw = ffi::RSMPI_DATATYPE_NULL;
            let code = ffi::MPI_Type_create_hvector(pieces, elements, stride, datatype, &mut raw);
            check_code("MPI_Type_create_hvector", code)?;
            Ok(Self { raw })
        }
    }

    /// A datatype with one element, made of several elements, at a distance in bytes from its nominal start.
    pub(crate) fn from_elements(
        elements: c_int,
        displacement: ffi::MPI_Aint,
        datatype: ffi::MPI_Datatype,
    ) -> Result<Self, ExecError> {
        Self::from_blocks(&[elements], &[displacement], datatype)
    }

    /// A datatype with one element, made of blocks of these numbers of elements, at distances in bytes from its nominal
    /// start.
    ///
    /// # Panics
    ///
    /// If there is not one distance for each number.
    pub(crate) fn from_blocks(
        lengths: &[c_int],
        starts: &[ffi::MPI_Aint],
        datatype: ffi::MPI_Datatype,
    ) -> Result<Self, ExecError> {
        assert_eq!(lengths.len(), starts.len());
        let count = mpi_count(lengths.len() as u64)?;
        let (lengths, starts) = (lengths.as_ptr(), starts.as_ptr());
        // SAFETY: both arrays have `count` elements; the handle is written by the call.
        unsafe {
            let mut raw = ffi::RSMPI_DATATYPE_NULL;
            let code = ffi::MPI_Type_create_hindexed(count, lengths, starts, datatype, &mut raw);
            check_code("MPI_Type_create_hindexed", code)?;
            Self::commit_raw(raw)
        }
    }

    /// Commits a datatype, which is freed when the result is dropped.
    ///
    /// # Safety
    /// The handle is of a datatype that was just created, and there is no other copy of it.
    unsafe fn commit_raw(mut raw: ffi::MPI_Datatype) -> Result<Self, ExecError> {
        let derived = Self { raw };
        // SAFETY: the caller promises that the handle is of a datatype that was just created.
        check_code("MPI_Type_commit", unsafe { ffi::MPI_Type_commit(&mut raw) })?;
        Ok(derived)
    }

    pub(crate) fn raw(&self) -> ffi::MPI_Datatype {
        self.raw
    }
}

impl Drop for DerivedDatatype {
    fn drop(&mut self) {
        if !is_finalized() {
            // SAFETY: the handle is ours; messages that use it may still be under way.
            unsafe { ffi::PMPI_Type_free(&mut self.raw) };
        }
    }
}

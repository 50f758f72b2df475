//! Combining units, by our loops or by the library.

use std::ffi::c_void;

use mpi::ffi;
use vocabulary::{Datatype, Operator};

use crate::api::{check_code, mpi_count};
use crate::copier::{Copier, piece_units};
use crate::handle::{DatatypeHandle, OperatorHandle};
use crate::kernel::{Addresses, Kernel, kernel_for_call};
use crate::unit::Unit;
use crate::{Bytes, Call, ExecError};

/// An operator on elements of a datatype.
pub(crate) struct Combiner {
    kernel: Option<Kernel>,
    local: Option<LocalReduction>,
}

/// The library's `MPI_Reduce_local`.
struct LocalReduction {
    operator: OperatorHandle,
    datatype: DatatypeHandle,
    stride: usize,
    /// Memory for a piece of the right operand, for results that go into the left one.
    piece: PieceMemory,
}

/// Memory for a few units.
struct PieceMemory {
    _memory: Bytes,
    base: *mut u8,
    units: usize,
}

impl PieceMemory {
    fn new(unit: &Unit) -> Result<Self, ExecError> {
        let units = piece_units(unit.stride);
        let (memory, base) = unit.allocate_units(units as u64)?;
        Ok(Self {
            _memory: memory,
            base,
            units,
        })
    }
}

impl Combiner {
    /// The combiner for one of our own calls; `None` if it is not a reduction.
    pub(crate) fn for_call(call: &Call) -> Result<Option<Self>, ExecError> {
        if !call.collective.is_reduction() {
            return Ok(None);
        }
        let operator = call.operator.ok_or(ExecError::NoOperator)?;
        Self::for_elements(call.datatype, operator).map(Some)
    }

    pub(crate) fn for_elements(datatype: Datatype, operator: Operator) -> Result<Self, ExecError> {
        Ok(Self {
            kernel: Some(kernel_for_call(datatype, operator)?),
            local: None,
        })
    }

    /// The combiner for an application's call.
    pub(crate) fn for_handles(
        datatype: DatatypeHandle,
        operator: OperatorHandle,
    ) -> Result<Self, ExecError> {
        let fast = datatype.kernel_for_operator(&operator);
        let unit = Unit::of_element(&datatype)?;
        Ok(Self {
            kernel: fast,
            local: Some(LocalReduction {
                operator,
                datatype,
                stride: unit.stride,
                piece: PieceMemory::new(&unit)?,
            }),
        })
    }

    /// Whether one of our loops does the work.
    pub(crate) fn has_kernel(&self) -> bool {
        self.kernel.is_some()
    }

    /// The bits that must be zero in the addresses of the memory that it combines; none if the library combines what
    /// is not aligned.
    pub(crate) fn alignment_mask(&self) -> usize {
        match self.local {
            None => self.kernel.map_or(0, Kernel::alignment_mask),
            Some(_) => 0,
        }
    }

    /// Combines `length` bytes of memory, including gaps.
    ///
    /// # Safety
    ///
    /// The addresses point to `length` bytes, which are readable; those of `into` are writable. The target is an
    /// operand or disjoint from both, and the operands are disjoint.
    #[inline(always)]
    pub(crate) unsafe fn combine(
        &self,
        at: Addresses,
        length: usize,
        copier: &mut Copier,
    ) -> Result<(), ExecError> {
        // SAFETY: the caller promises that the operands are readable and disjoint, for `length` bytes, and that the
        // target is writable, and an operand or disjoint from both.
        unsafe {
            match (self.kernel, &self.local) {
                (Some(kernel), _) if kernel.is_aligned(at) => kernel.combine_at(at, length),
                (_, Some(local)) => return local.combine_locally(at, length, copier),
                (_, None) => return Err(ExecError::NoOperator),
            }
        }
        Ok(())
    }
}

impl LocalReduction {
    /// # Safety
    ///
    /// As in [`Combiner::combine`].
    #[inline(never)]
    unsafe fn combine_locally(
        &self,
        at: Addresses,
        length: usize,
        copier: &mut Copier,
    ) -> Result<(), ExecError> {
        let Addresses { left, right, into } = at;
        let units = length / self.stride;
        // SAFETY: the caller promises that the operands are readable and disjoint, for `length` bytes, and that the
        // target is writable, and an operand or disjoint from both; `MPI_Reduce_local` takes the left operand first and
        // overwrites the second (MPI 4.0, section 6.9.7).
        unsafe {
            if right == into.cast_const() {
                return self.reduce_local(left, into, units);
            }
            if left != into.cast_const() {
                copier.copy(right, into, length)?;
                return self.reduce_local(left, into, units);
            }
            if self.operator.is_commutative() {
                return self.reduce_local(right, into, units);
            }
            // The right operand must not be overwritten.
            let mut done = 0;
            while done < units {
                let count = self.piece.units.min(units - done);
                let (offset, bytes) = (done * self.stride, count * self.stride);
                let piece = self.piece.base;
                copier.copy(right.wrapping_add(offset), piece, bytes)?;
                self.reduce_local(left.wrapping_add(offset), piece, count)?;
                copier.copy(piece, into.wrapping_add(offset), bytes)?;
                done += count;
            }
        }
        Ok(())
    }

    /// # Safety
    ///
    /// `units` elements may be read at `left`, and read and written at `right`; they do not overlap.
    unsafe fn reduce_local(
        &self,
        left: *const u8,
        right: *mut u8,
        units: usize,
    ) -> Result<(), ExecError> {
        // SAFETY: the caller promises that `units` elements may be read at `left`, and read and written at `right`, and
        // do not overlap.
        let code = unsafe {
            ffi::MPI_Reduce_local(
                left.cast::<c_void>(),
                right.cast::<c_void>(),
                mpi_count(units as u64)?,
                self.datatype.raw(),
                self.operator.raw(),
            )
        };
        check_code("MPI_Reduce_local", code)
    }
}

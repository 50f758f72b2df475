//! A schedule's unit in memory and in messages.

use channel::MessageSize;
use mpi::ffi;
use schedule::Run;

use crate::api::{byte_datatype, mpi_count};
use crate::handle::DatatypeHandle;
use crate::{Bytes, ExecError};

/// A schedule's unit: some bytes, or an element of a datatype with gaps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    /// The distance in bytes from one unit to the next.
    pub(crate) stride: usize,
    /// The datatype of messages: bytes, or the sparse datatype.
    pub(crate) datatype: ffi::MPI_Datatype,
    /// The offset of a unit's data from its address, in bytes.
    first_byte: isize,
    span: usize,
    /// The datatype, unless a unit is a contiguous range of bytes.
    pub(crate) sparse: Option<DatatypeHandle>,
}

impl Unit {
    /// A unit of `length` bytes.
    pub(crate) fn of_bytes(length: usize) -> Self {
        Self {
            stride: length,
            datatype: byte_datatype(),
            first_byte: 0,
            span: length,
            sparse: None,
        }
    }

    /// An element of a datatype.
    pub(crate) fn of_element(datatype: &DatatypeHandle) -> Result<Self, ExecError> {
        if datatype.is_dense() {
            return Ok(Self::of_bytes(datatype.size()));
        }
        let extent = datatype.extent();
        let span = usize::try_from(datatype.true_extent());
        match (usize::try_from(extent), span) {
            (Ok(stride), Ok(span)) if stride > 0 => Ok(Self {
                stride,
                datatype: datatype.raw(),
                first_byte: datatype.true_lower_bound(),
                span,
                sparse: Some(*datatype),
            }),
            _ => Err(ExecError::Extent { extent }),
        }
    }

    /// The number of elements of the message's datatype in `length` bytes of memory.
    pub(crate) fn message_count(&self, length: usize) -> Result<i32, ExecError> {
        match self.sparse {
            // No division, since messages of long programs are counted while they are timed.
            None => mpi_count(length as u64),
            Some(_) => mpi_count((length / self.stride) as u64),
        }
    }

    /// The size of a packed unit in bytes.
    pub(crate) fn packed_size(&self) -> usize {
        self.sparse.map_or(self.stride, |datatype| datatype.size())
    }

    /// The packed size of `length` bytes of memory.
    pub(crate) fn packed_bytes(&self, length: u64) -> usize {
        match self.sparse {
            None => length as usize,
            Some(datatype) => length as usize / self.stride * datatype.size(),
        }
    }

    /// The packed size of a run.
    pub(crate) fn packed_length(&self, run: Run) -> usize {
        self.packed_bytes(run.length) * run.count as usize
    }

    /// A message of units through a channel; `runs` are its ranges of memory.
    pub(crate) fn message_size(&self, runs: &[Run]) -> MessageSize {
        let bytes = runs.iter().map(|run| self.packed_length(*run)).sum();
        MessageSize::new(bytes, self.packed_size())
    }

    /// Allocates memory for units. Returns it with the address of the first unit, which has the alignment of the
    /// allocation, as data may be below that address.
    pub(crate) fn allocate_units(&self, units: u64) -> Result<(Bytes, *mut u8), ExecError> {
        const ALIGNMENT: isize = align_of::<u128>() as isize;
        let below = self.first_byte.div_euclid(ALIGNMENT) * ALIGNMENT;
        let length = usize::try_from(units)
            .ok()
            .and_then(|units| units.saturating_sub(1).checked_mul(self.stride))
            .and_then(|length| length.checked_add(self.span))
            .and_then(|length| length.checked_add((self.first_byte - below) as usize))
            .filter(|length| *length <= isize::MAX as usize)
            .ok_or(ExecError::TooLarge { bytes: u64::MAX })?;
        let mut memory = Bytes::zeroed(if units == 0 { 0 } else { length });
        let base = memory.as_mut_slice().as_mut_ptr().wrapping_offset(-below);
        Ok((memory, base))
    }
}

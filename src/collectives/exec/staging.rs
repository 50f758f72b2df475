//! Packed copies of buffers that have elements with gaps.

use crate::api::mpi_count;
use crate::arguments::{Arguments, Elements};
use crate::handle::DatatypeHandle;
use crate::{Bytes, ExecError};

/// A buffer of an application's call that moves elements with gaps.
#[derive(Debug)]
pub(crate) struct StagedBuffer {
    datatype: DatatypeHandle,
    /// The number of elements in one rank's part, or in the whole vector if it has no parts.
    elements: usize,
    packed: Bytes,
    /// The parts with data before the call.
    before: BufferParts,
    /// The parts that get data during the call.
    after: BufferParts,
}

/// Parts of a buffer.
#[derive(Clone, Copy, Debug)]
struct BufferParts {
    first: usize,
    count: usize,
}

const NONE: BufferParts = BufferParts { first: 0, count: 0 };

impl StagedBuffer {
    /// `None` if the elements are dense, which are worked on where they are.
    fn new(
        elements: Elements,
        before: BufferParts,
        after: BufferParts,
    ) -> Result<Option<Self>, ExecError> {
        let parts = [before, after].map(|parts| parts.first + parts.count);
        let parts = parts.into_iter().max().unwrap_or(0) as u64;
        let datatype = elements.datatype;
        let bytes = elements.size_bytes()?.checked_mul(parts);
        let bytes = bytes.ok_or(ExecError::TooLarge { bytes: u64::MAX })?;
        if datatype.is_dense() {
            return Ok(None);
        }
        // The library's packing functions count bytes in a C `int`.
        mpi_count(bytes)?;
        mpi_count(elements.count.saturating_mul(parts))?;
        Ok(Some(Self {
            datatype,
            elements: elements.count as usize,
            packed: Bytes::zeroed(bytes as usize),
            before,
            after,
        }))
    }

    /// The input and the output of a rank, if it has them and their elements have gaps.
    pub(crate) fn for_arguments(
        arguments: &Arguments<'_>,
        rank: u32,
        ranks: u32,
        in_place: bool,
    ) -> Result<[Option<Self>; 2], ExecError> {
        let is_root = rank == arguments.root();
        let one = BufferParts { first: 0, count: 1 };
        let all = BufferParts {
            first: 0,
            count: ranks as usize,
        };
        let own = if in_place {
            BufferParts {
                first: rank as usize,
                count: 1,
            }
        } else {
            NONE
        };
        let gives = |elements, parts| Self::new(elements, parts, NONE);
        let gets = |elements, parts| Self::new(elements, NONE, parts);
        Ok(match *arguments {
            Arguments::Bcast { data, .. } if is_root => [None, gives(data, one)?],
            Arguments::Bcast { data, .. } => [None, gets(data, one)?],
            Arguments::Gather { send, recv, .. } => [
                if is_root && in_place {
                    None
                } else {
                    gives(send, one)?
                },
                if is_root {
                    Self::new(recv, own, all)?
                } else {
                    None
                },
            ],
            Arguments::Scatter { send, recv, .. } => [
                if is_root { gives(send, all)? } else { None },
                if is_root && in_place {
                    None
                } else {
                    gets(recv, one)?
                },
            ],
            Arguments::Allgather { send, recv } => [
                if in_place { None } else { gives(send, one)? },
                Self::new(recv, own, all)?,
            ],
            // In place, every block that is sent is where a received one goes.
            Arguments::Alltoall { recv, .. } if in_place => [None, Self::new(recv, all, all)?],
            Arguments::Alltoall { send, recv } => [gives(send, all)?, gets(recv, all)?],
            // Elements that are combined stay where they are.
            Arguments::Reduce { .. }
            | Arguments::Allreduce { .. }
            | Arguments::ReduceScatter { .. }
            | Arguments::ReduceScatterBlock { .. }
            | Arguments::Scan { .. }
            | Arguments::Exscan { .. }
            | Arguments::Barrier => [None, None],
        })
    }

    /// The size of the packed copy in bytes.
    pub(crate) fn kept_bytes(&self) -> u64 {
        self.packed.as_slice().len() as u64
    }

    /// The memory to work on, filled with the input data.
    ///
    /// # Safety
    ///
    /// `data` points to the buffer, which is readable if it has any input data.
    pub(crate) unsafe fn pack_input(&mut self, data: *const u8) -> Result<*mut u8, ExecError> {
        let LocatedParts {
            address,
            elements,
            bytes,
        } = self.locate_parts(self.before, data.cast_mut());
        if elements > 0 {
            // SAFETY: the caller promises that `data` points to the buffer, which contains these elements and is
            // readable.
            unsafe {
                self.datatype
                    .pack(address, elements, &mut self.packed.as_mut_slice()[bytes])?;
            }
        }
        Ok(self.packed.as_mut_slice().as_mut_ptr())
    }

    /// Copies the result to the buffer.
    ///
    /// # Safety
    ///
    /// `data` points to the buffer, which is writable if it gets any data.
    pub(crate) unsafe fn unpack_output(&mut self, data: *mut u8) -> Result<(), ExecError> {
        let LocatedParts {
            address,
            elements,
            bytes,
        } = self.locate_parts(self.after, data);
        if elements > 0 {
            // SAFETY: the caller promises that `data` points to the buffer, which contains these elements and is
            // writable.
            unsafe {
                self.datatype
                    .unpack(&self.packed.as_slice()[bytes], address, elements)?;
            }
        }
        Ok(())
    }

    fn locate_parts(&self, parts: BufferParts, data: *mut u8) -> LocatedParts {
        let part = self.elements * self.datatype.size();
        let first = (parts.first * self.elements) as isize;
        LocatedParts {
            address: data.wrapping_offset(first * self.datatype.extent()),
            elements: parts.count * self.elements,
            bytes: parts.first * part..(parts.first + parts.count) * part,
        }
    }
}

/// Some parts of a buffer, in the application's memory and in the packed copy.
struct LocatedParts {
    address: *mut u8,
    elements: usize,
    bytes: std::ops::Range<usize>,
}

//! Copying units from one place to another.

use crate::unit::Unit;
use crate::{Bytes, ExecError};

/// Work that needs memory of its own is done in pieces of about this size, which stay in the cache.
const PIECE_BYTES: usize = 32 << 10;

/// Copies units; between elements with gaps it touches nothing.
pub(crate) struct Copier {
    unit: Unit,
    /// Packed elements of a datatype with gaps.
    packed: Bytes,
}

/// Units that are worked on at once.
pub(crate) fn piece_units(unit_bytes: usize) -> usize {
    (PIECE_BYTES / unit_bytes.max(1)).max(1)
}

impl Copier {
    pub(crate) fn new(unit: Unit) -> Self {
        let packed = unit
            .sparse
            .map_or(0, |datatype| piece_units(datatype.size()) * datatype.size());
        Self {
            unit,
            packed: Bytes::zeroed(packed),
        }
    }

    /// Copies `length` bytes of memory, gaps not included.
    ///
    /// # Safety
    ///
    /// So much memory may be read and written, and does not overlap unless it is the same.
    pub(crate) unsafe fn copy(
        &mut self,
        from: *const u8,
        into: *mut u8,
        length: usize,
    ) -> Result<(), ExecError> {
        let Some(datatype) = self.unit.sparse else {
            // A rank's own part may be where it goes already. SAFETY: the caller's.
            unsafe { std::ptr::copy(from, into, length) };
            return Ok(());
        };
        let units = length / self.unit.stride;
        let mut done = 0;
        while done < units {
            let count = piece_units(datatype.size()).min(units - done);
            let offset = done * self.unit.stride;
            let packed = &mut self.packed.as_mut_slice()[..count * datatype.size()];
            // SAFETY: the caller's.
            unsafe {
                datatype.pack(from.wrapping_add(offset), count, packed)?;
                datatype.unpack(packed, into.wrapping_add(offset), count)?;
            }
            done += count;
        }
        Ok(())
    }
}

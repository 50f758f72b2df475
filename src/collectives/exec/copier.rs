//! Copying units from one place to another.

use std::ops::Range;

use channel::{SendBuffer, copy_from_shared};
use schedule::Run;

use crate::unit::Unit;
use crate::{Bytes, ExecError};

/// The size of the pieces in which work with temporary memory is done; they stay in the cache.
const PIECE_BYTES: usize = 32 << 10;

/// Copies units without touching the gaps between elements.
pub(crate) struct Copier {
    unit: Unit,
    /// Packed elements of a datatype with gaps.
    packed: Bytes,
}

/// The number of units processed at once.
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

    /// Copies `length` bytes of memory, without gaps.
    ///
    /// # Safety
    ///
    /// `from` is readable and `into` writable for `length` bytes, and they do not overlap unless they are identical.
    pub(crate) unsafe fn copy(
        &mut self,
        from: *const u8,
        into: *mut u8,
        length: usize,
    ) -> Result<(), ExecError> {
        let Some(datatype) = self.unit.sparse else {
            // A rank's own part may already be in place.
            // SAFETY: the caller promises that `from` is readable and `into` writable for `length` bytes.
            unsafe { std::ptr::copy(from, into, length) };
            return Ok(());
        };
        let units = length / self.unit.stride;
        let mut done = 0;
        while done < units {
            let count = piece_units(datatype.size()).min(units - done);
            let offset = done * self.unit.stride;
            let packed = &mut self.packed.as_mut_slice()[..count * datatype.size()];
            // SAFETY: the caller promises that `from` is readable and `into` writable for `length` bytes, which contain
            // these units.
            unsafe {
                datatype.pack(from.wrapping_add(offset), count, packed)?;
                datatype.unpack(packed, into.wrapping_add(offset), count)?;
            }
            done += count;
        }
        Ok(())
    }
}

/// Pieces of a message. The data of a message is packed: one unit after the other, without gaps.
impl Copier {
    /// The address of a message whose packed data are in one piece of memory; `base` is the origin of the runs.
    #[inline]
    pub(crate) fn contiguous_address(
        &self,
        base: *mut u8,
        [run, rest]: &[Run; 2],
    ) -> Option<*mut u8> {
        let is_whole = self.unit.sparse.is_none() && run.count == 1 && rest.is_empty();
        is_whole.then(|| base.wrapping_add(run.start as usize))
    }

    /// Fills `packet` with the packed data of a message from `offset` on. `base` is the origin of the runs.
    ///
    /// # Safety
    ///
    /// The memory of the runs is readable, and the message is long enough.
    #[inline]
    pub(crate) unsafe fn take_out(
        &mut self,
        base: *const u8,
        runs: &[Run; 2],
        offset: usize,
        packet: &mut SendBuffer<'_>,
    ) -> Result<(), ExecError> {
        if let Some(address) = self.contiguous_address(base.cast_mut(), runs) {
            // SAFETY: the caller promises that the memory of the runs is readable and the message long enough; a
            // channel's packet is in none of the collective's memories.
            unsafe { packet.copy_from(address.wrapping_add(offset)) };
            return Ok(());
        }
        self.for_each_piece(runs, offset, packet.len(), |copier, start, within, at| {
            // SAFETY: the caller promises that the memory of the runs is readable and the message long enough; the
            // piece is a part of it.
            unsafe { copier.take_out_piece(base.wrapping_add(start), within, packet.part(at)) }
        })
    }

    /// Unpacks a part of a message to its destination, from `offset` on. `base` is the origin of the runs.
    ///
    /// # Safety
    ///
    /// The memory of the runs is readable and writable, and the message is long enough.
    #[inline]
    pub(crate) unsafe fn put_in(
        &mut self,
        base: *mut u8,
        runs: &[Run; 2],
        offset: usize,
        packet: &[u8],
    ) -> Result<(), ExecError> {
        if let Some(address) = self.contiguous_address(base, runs) {
            let into = address.wrapping_add(offset);
            // SAFETY: the caller promises that the memory of the runs is writable and the message long enough; a
            // channel's packet is in none of the collective's memories.
            unsafe { copy_from_shared(packet.as_ptr(), into, packet.len()) };
            return Ok(());
        }
        self.for_each_piece(runs, offset, packet.len(), |copier, start, within, at| {
            // SAFETY: the caller promises that the memory of the runs is readable and writable and the message long
            // enough; the piece is a part of it.
            unsafe { copier.put_in_piece(base.wrapping_add(start), within, &packet[at]) }
        })
    }

    /// Calls `with` for each piece of memory that contains a part of `length` message bytes from `offset` on. Passes
    /// the start of the piece, the number of packed bytes of the piece before this part, and the range of the part
    /// among the `length` bytes.
    fn for_each_piece(
        &mut self,
        runs: &[Run; 2],
        mut offset: usize,
        length: usize,
        mut with: impl FnMut(&mut Self, usize, usize, Range<usize>) -> Result<(), ExecError>,
    ) -> Result<(), ExecError> {
        let mut done = 0;
        for run in runs {
            let all = self.unit.packed_length(*run);
            if offset >= all {
                offset -= all;
                continue;
            }
            let of_piece = self.unit.packed_bytes(run.length);
            while offset < all && done < length {
                let (piece, within) = (offset / of_piece, offset % of_piece);
                let start = run.start as usize + piece * run.stride as usize;
                let bytes = (of_piece - within).min(length - done);
                with(self, start, within, done..done + bytes)?;
                done += bytes;
                offset += bytes;
            }
            offset = 0;
        }
        Ok(())
    }

    /// # Safety
    ///
    /// The units from `memory` on whose packed data contain the packet's bytes, from byte `within` on, are readable.
    unsafe fn take_out_piece(
        &mut self,
        memory: *const u8,
        within: usize,
        mut packet: SendBuffer<'_>,
    ) -> Result<(), ExecError> {
        let Some(datatype) = self.unit.sparse else {
            let from = memory.wrapping_add(within);
            // SAFETY: the caller promises that the packet's bytes, from `within` on, are readable; a channel's packet
            // is in none of the collective's memories.
            unsafe { packet.copy_from(from) };
            return Ok(());
        };
        let mut done = 0;
        while done < packet.len() {
            let part =
                PackedPart::containing_bytes(datatype.size(), within + done, packet.len() - done);
            let from = memory.wrapping_add(part.first * self.unit.stride);
            let packed = &mut self.packed.as_mut_slice()[..part.units * datatype.size()];
            // SAFETY: the caller promises that the units that contain the packet's bytes are readable; these are some
            // of them.
            unsafe { datatype.pack(from, part.units, packed)? };
            let at = done..done + part.bytes.len();
            done = at.end;
            packet.part(at).copy_from_slice(&packed[part.bytes]);
        }
        Ok(())
    }

    /// # Safety
    ///
    /// The units from `memory` on whose packed data contain the packet's bytes, from byte `within` on, are readable and
    /// writable.
    unsafe fn put_in_piece(
        &mut self,
        memory: *mut u8,
        within: usize,
        packet: &[u8],
    ) -> Result<(), ExecError> {
        let Some(datatype) = self.unit.sparse else {
            let into = memory.wrapping_add(within);
            // SAFETY: the caller promises that the place of the packet's bytes, from `within` on, is writable; a
            // channel's packet is in none of the collective's memories.
            unsafe { copy_from_shared(packet.as_ptr(), into, packet.len()) };
            return Ok(());
        };
        let mut done = 0;
        while done < packet.len() {
            let part =
                PackedPart::containing_bytes(datatype.size(), within + done, packet.len() - done);
            let into = memory.wrapping_add(part.first * self.unit.stride);
            let packed = &mut self.packed.as_mut_slice()[..part.units * datatype.size()];
            // SAFETY: the caller promises that the units that contain the packet's bytes are readable and writable;
            // these are some of them.
            unsafe {
                if part.bytes.len() < packed.len() {
                    // Keeps the other bytes of the unit unchanged.
                    datatype.pack(into, part.units, packed)?;
                }
                packed[part.bytes.clone()].copy_from_slice(&packet[done..done + part.bytes.len()]);
                datatype.unpack(packed, into, part.units)?;
            }
            done += part.bytes.len();
        }
        Ok(())
    }
}

/// The units to pack at once in order to access some packed bytes.
struct PackedPart {
    first: usize,
    units: usize,
    /// The range of these bytes among the packed bytes of the units.
    bytes: Range<usize>,
}

impl PackedPart {
    /// The units that contain `length` packed bytes from `start` on, counted from the start of a unit; `size` is a
    /// unit's.
    fn containing_bytes(size: usize, start: usize, length: usize) -> Self {
        let (first, skipped) = (start / size, start % size);
        let units = (skipped + length).div_ceil(size).min(piece_units(size));
        Self {
            first,
            units,
            bytes: skipped..(units * size).min(skipped + length),
        }
    }
}

//! The blocks of an irregular call's buffers, as one call describes them.

use std::ffi::c_int;
use std::ops::Range;

use mpi::ffi;

use crate::api::byte_datatype;
use crate::derived::DerivedDatatype;
use crate::handle::DatatypeHandle;
use crate::messages::Message;
use crate::raw_irregular::{RawBlocks, RawTypes};
use crate::{Bytes, Communicator, ExecError};

/// The most data that is packed at once: the library's packing functions count bytes by a C `int`.
const PIECE_BYTES: usize = 1 << 30;

/// An element as one end of a message from this rank to itself, as which it is packed and unpacked if it is too large for
/// the library's packing functions.
fn element_at(data: *mut u8, datatype: &DatatypeHandle, communicator: &Communicator) -> Message {
    Message {
        data: data.cast(),
        count: 1,
        datatype: datatype.raw(),
        peer: communicator.library_rank(communicator.rank()),
    }
}

/// The other end: packed bytes, with their datatype, which must exist as long as the message.
fn message_of_bytes(
    data: *mut u8,
    length: usize,
    communicator: &Communicator,
) -> Result<(Message, DerivedDatatype), ExecError> {
    let starts = (0..length).step_by(PIECE_BYTES);
    let lengths: Vec<c_int> = starts
        .clone()
        .map(|start| PIECE_BYTES.min(length - start) as c_int)
        .collect();
    let starts: Vec<ffi::MPI_Aint> = starts.map(|start| start as ffi::MPI_Aint).collect();
    let derived = DerivedDatatype::from_blocks(&lengths, &starts, byte_datatype())?;
    let message = Message {
        data: data.cast(),
        count: 1,
        datatype: derived.raw(),
        peer: communicator.library_rank(communicator.rank()),
    };
    Ok((message, derived))
}

/// A block of a buffer; empty if its count is 0, also where its type has no data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    /// The distance of its first element from the buffer's address, in bytes.
    displacement: isize,
    /// The number of elements.
    pub(crate) count: i64,
}

/// The blocks of one buffer.
#[derive(Debug, Default)]
pub(crate) struct BlockList {
    /// The rank of the first block.
    first: u32,
    blocks: Vec<Block>,
    /// The type of all blocks, or that of each.
    types: Vec<DatatypeHandle>,
    /// The size of each block's data in bytes, without gaps.
    sizes: Vec<u64>,
    /// The least distance of any data from the buffer's address, in bytes.
    origin: isize,
}

/// The difference between the blocks of a call and those of the call before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    /// They are the same.
    Nothing,
    /// The sizes of their data are the same, but the data may be in other places.
    Places,
    /// The sizes of their data differ.
    Sizes,
}

/// One block of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedBlock<'a> {
    pub(crate) count: i64,
    pub(crate) datatype: &'a DatatypeHandle,
    /// The offset of its first element from the list's origin, in bytes; negative if data is below the element's address.
    pub(crate) offset: isize,
    /// The size of its data in bytes.
    pub(crate) size: u64,
}

impl PlacedBlock<'_> {
    /// Whether its memory is its data.
    pub(crate) fn is_dense(&self) -> bool {
        self.datatype.is_dense()
    }

    /// The range of memory with its data, from the list's origin.
    pub(crate) fn data_range(&self) -> Range<u64> {
        let (low, high) = data_bounds(self.datatype, self.count);
        // No data is before the origin.
        (self.offset + low) as u64..(self.offset + high) as u64
    }
}

/// The start and the end of the data of some elements, from the address of the first, in bytes.
fn data_bounds(datatype: &DatatypeHandle, count: i64) -> (isize, isize) {
    let last = (count.saturating_sub(1) as isize).saturating_mul(datatype.extent());
    let low = datatype.true_lower_bound();
    (
        low.saturating_add(last.min(0)),
        low.saturating_add(datatype.true_extent())
            .saturating_add(last.max(0)),
    )
}

impl BlockList {
    /// Takes over the blocks of a call; none if the buffer is not significant. `own` is this rank.
    ///
    /// Once as many blocks have been taken over, nothing is allocated.
    ///
    /// # Errors
    ///
    /// If the library reports an error, or a block is too large. The list must then be updated before it is used.
    ///
    /// # Safety
    ///
    /// The arrays have `ranks` readable entries, and the types of blocks with elements are valid.
    pub(crate) unsafe fn update(
        &mut self,
        raw: Option<&RawBlocks>,
        own: u32,
        ranks: u32,
    ) -> Result<Change, ExecError> {
        let (first, number) = match raw {
            None => (0, 0),
            Some(RawBlocks::One { .. }) => (own, 1),
            Some(RawBlocks::OfRanks { .. }) => (0, ranks as usize),
        };
        let mut change = Change::Nothing;
        if (self.first, self.blocks.len()) != (first, number) {
            self.first = first;
            self.blocks.resize(number, Block::default());
            self.sizes.resize(number, 0);
            self.types.clear();
            change = Change::Sizes;
        }
        let Some(raw) = raw else {
            return Ok(change);
        };
        // SAFETY: the caller promises `ranks` readable entries and valid types.
        unsafe {
            change = change.max(self.update_types(raw)?);
            self.origin = isize::MAX;
            for place in 0..number {
                let (count, displacement) = match raw {
                    RawBlocks::One { count, .. } => (*count, 0),
                    RawBlocks::OfRanks {
                        counts,
                        displacements,
                        ..
                    } => (counts.number_at(place), displacements.number_at(place)),
                };
                change = change.max(self.update_block(place, count, displacement, raw)?);
            }
        }
        if self.origin == isize::MAX {
            self.origin = 0;
        }
        Ok(change)
    }

    /// # Safety
    ///
    /// As in [`Self::update`]; there are as many blocks as `raw` says.
    unsafe fn update_types(&mut self, raw: &RawBlocks) -> Result<Change, ExecError> {
        let types = match raw {
            RawBlocks::One { datatype, .. } => RawTypes::Same(*datatype),
            RawBlocks::OfRanks { datatypes, .. } => *datatypes,
        };
        let number = match types {
            RawTypes::Same(_) => 1,
            RawTypes::OfBlocks(_) => self.blocks.len(),
        };
        let mut change = Change::Nothing;
        let known = self.types.len();
        let mut last: Option<DatatypeHandle> = None;
        // The type of no elements may be anything, even null.
        // SAFETY: the caller promises as many readable entries as there are blocks.
        let has_elements = |place| unsafe { raw.elements_at(place).0 > 0 };
        let has_any = || (0..self.blocks.len()).any(has_elements);
        for place in 0..number {
            let is_significant = match types {
                RawTypes::Same(_) => has_any(),
                RawTypes::OfBlocks(_) => has_elements(place),
            };
            let raw_type = if is_significant {
                // SAFETY: the caller promises as many readable types as there are blocks.
                unsafe { types.type_at(place) }
            } else {
                byte_datatype()
            };
            let before = self.types.get(place).filter(|_| place < known).copied();
            let datatype = match (before, last) {
                (_, Some(last)) if last.raw() == raw_type => last,
                // The program may have freed another type, and its handle may be that of a new one.
                (Some(before), _) if before.raw() == raw_type && before.is_named() => before,
                // SAFETY: the caller promises that the type is valid.
                _ => unsafe { DatatypeHandle::without_probe(raw_type)? },
            };
            last = Some(datatype);
            if before.is_none_or(|same| same.raw() != raw_type) || !datatype.is_named() {
                change = Change::Places;
            }
            match self.types.get_mut(place) {
                Some(kept) => *kept = datatype,
                None => self.types.push(datatype),
            }
        }
        self.types.truncate(number);
        Ok(change)
    }

    /// # Safety
    ///
    /// As in [`Self::update`]; the types are up to date.
    unsafe fn update_block(
        &mut self,
        place: usize,
        count: i64,
        displacement: i64,
        raw: &RawBlocks,
    ) -> Result<Change, ExecError> {
        const TOO_LARGE: ExecError = ExecError::TooLarge { bytes: u64::MAX };
        let datatype = self.types[place.min(self.types.len() - 1)];
        let size = (count.max(0) as u64)
            .checked_mul(datatype.size() as u64)
            .ok_or(TOO_LARGE)?;
        let mut block = Block::default();
        if size > 0 {
            let is_in_bytes = matches!(
                raw,
                RawBlocks::OfRanks {
                    datatypes: RawTypes::OfBlocks(_),
                    ..
                }
            );
            let unit = if is_in_bytes { 1 } else { datatype.extent() };
            let bytes = (displacement as isize).checked_mul(unit).ok_or(TOO_LARGE)?;
            block = Block {
                displacement: bytes,
                count,
            };
            let (low, _) = data_bounds(&datatype, count);
            self.origin = self.origin.min(bytes.saturating_add(low));
        }
        let change = if self.sizes[place] != size {
            Change::Sizes
        } else if self.blocks[place] != block {
            Change::Places
        } else {
            Change::Nothing
        };
        (self.sizes[place], self.blocks[place]) = (size, block);
        Ok(change)
    }

    /// The size of each block's data in bytes.
    pub(crate) fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// The size of the data of a rank's block in bytes; 0 if there is no such block.
    pub(crate) fn size_of(&self, rank: u32) -> u64 {
        let place = rank.checked_sub(self.first);
        place.map_or(0, |place| {
            self.sizes.get(place as usize).copied().unwrap_or(0)
        })
    }

    /// The block of a rank.
    pub(crate) fn block_of(&self, rank: u64) -> PlacedBlock<'_> {
        let place = rank as usize - self.first as usize;
        let Block {
            displacement,
            count,
        } = self.blocks[place];
        PlacedBlock {
            count,
            datatype: &self.types[place.min(self.types.len() - 1)],
            offset: displacement.wrapping_sub(self.origin),
            size: self.sizes[place],
        }
    }

    /// The blocks with data.
    fn occupied_blocks(&self) -> impl Iterator<Item = PlacedBlock<'_>> {
        let ranks = u64::from(self.first)..u64::from(self.first) + self.blocks.len() as u64;
        ranks
            .map(|rank| self.block_of(rank))
            .filter(|block| block.size > 0)
    }

    /// Whether the memory of each block is its data.
    pub(crate) fn is_dense(&self) -> bool {
        self.occupied_blocks().all(|block| block.is_dense())
    }

    /// Whether the blocks are dense, and one after the other without gaps.
    pub(crate) fn is_joined(&self) -> bool {
        let mut end = 0;
        self.occupied_blocks().all(|block| {
            let follows = block.is_dense() && block.offset as u64 == end;
            end += block.size;
            follows
        })
    }

    /// The address of the list's origin in a buffer.
    pub(crate) fn origin_in(&self, buffer: *const u8) -> *const u8 {
        buffer.wrapping_offset(self.origin)
    }

    /// Copies the data of blocks to `packed`, which holds those of all blocks one after the other: of the only rank given,
    /// or of all.
    ///
    /// # Safety
    ///
    /// The buffer has these blocks, which are readable.
    pub(crate) unsafe fn pack(
        &self,
        buffer: *const u8,
        only: Option<u32>,
        packed: &mut Bytes,
        communicator: &Communicator,
    ) -> Result<(), ExecError> {
        let base = self.origin_in(buffer);
        self.for_each_piece(only, |datatype, offset, elements, bytes| {
            let data = base.wrapping_offset(offset);
            let into = &mut packed.as_mut_slice()[bytes];
            // SAFETY: the caller promises that the buffer has these elements, which are readable.
            unsafe {
                if datatype.is_dense() {
                    std::ptr::copy_nonoverlapping(data, into.as_mut_ptr(), into.len());
                    Ok(())
                } else if into.len() > PIECE_BYTES {
                    let element = element_at(data.cast_mut(), datatype, communicator);
                    let (message, _derived) =
                        message_of_bytes(into.as_mut_ptr(), into.len(), communicator)?;
                    communicator.exchange(element, message)
                } else {
                    datatype.pack(data, elements, into)
                }
            }
        })
    }

    /// Copies the data of all blocks from `packed`. Only the blocks are written, not the gaps in and between them.
    ///
    /// # Safety
    ///
    /// The buffer has these blocks, which are writable.
    pub(crate) unsafe fn unpack(
        &self,
        packed: &Bytes,
        buffer: *mut u8,
        communicator: &Communicator,
    ) -> Result<(), ExecError> {
        let base = self.origin_in(buffer).cast_mut();
        self.for_each_piece(None, |datatype, offset, elements, bytes| {
            let data = base.wrapping_offset(offset);
            let from = &packed.as_slice()[bytes];
            // SAFETY: the caller promises that the buffer has these elements, which are writable.
            unsafe {
                if datatype.is_dense() {
                    std::ptr::copy_nonoverlapping(from.as_ptr(), data, from.len());
                    Ok(())
                } else if from.len() > PIECE_BYTES {
                    let element = element_at(data, datatype, communicator);
                    let start = from.as_ptr().cast_mut();
                    let (message, _derived) = message_of_bytes(start, from.len(), communicator)?;
                    communicator.exchange(message, element)
                } else {
                    datatype.unpack(from, data, elements)
                }
            }
        })
    }

    /// Calls `does` with the pieces of blocks: their type, offset from the origin, number of elements, and bytes among the
    /// packed data of all blocks. None has more data than [`PIECE_BYTES`], unless it is a single element.
    fn for_each_piece(
        &self,
        only: Option<u32>,
        mut does: impl FnMut(&DatatypeHandle, isize, usize, Range<usize>) -> Result<(), ExecError>,
    ) -> Result<(), ExecError> {
        let mut start = 0;
        for (place, size) in self.sizes.iter().enumerate() {
            let end = start + *size as usize;
            let rank = self.first + place as u32;
            if *size > 0 && only.is_none_or(|only| only == rank) {
                let block = self.block_of(rank.into());
                let datatype = block.datatype;
                let most = (PIECE_BYTES / datatype.size()).max(1);
                let (mut offset, mut left, mut at) = (block.offset, block.count as usize, start);
                while left > 0 {
                    let elements = most.min(left);
                    let bytes = elements * datatype.size();
                    does(datatype, offset, elements, at..at + bytes)?;
                    offset = offset.wrapping_add(elements as isize * datatype.extent());
                    at += bytes;
                    left -= elements;
                }
            }
            start = end;
        }
        Ok(())
    }
}

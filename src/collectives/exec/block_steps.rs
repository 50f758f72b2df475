//! The messages and copies of an irregular collective, whose blocks may be anywhere in its buffers.
//!
//! Through MPI, a block is sent and received where it is, with the application's datatype; several blocks of one message
//! that are not one after the other, or more elements than a C `int` can count, are one element of a derived datatype. A
//! rank's own block is copied or, if its memory is not its data, sent by the rank to itself, as the library converts it.
//!
//! Messages through channels are bytes, and so are all messages of algorithms that cut the vector elsewhere than between
//! blocks. There a buffer whose blocks are not dense, or not one after the other where a message may have several, is
//! *joined*: its place takes the vector in one piece, which is filled before the call and emptied after it
//! (`irregular.rs`).
//!
//! Both ends of a message know how much data it has, so that both leave out a message without data.

use std::ffi::c_int;

use mpi::ffi;
use schedule::{Partition, Run, Span};

use crate::ExecError;
use crate::blocks::{BlockList, PlacedBlock};
use crate::derived::DerivedDatatype;
use crate::steps::{DerivedDatatypes, INPUT, MemoryPlace, OUTPUT, Resolver, Steps, Transfer, Work};

/// The buffers of an irregular call.
#[derive(Debug, Default)]
pub(crate) struct BlockBuffers {
    /// The blocks of the input, and of the output.
    pub(crate) lists: [BlockList; 2],
    /// Whether a buffer, or what takes its place, is the vector in one piece.
    pub(crate) are_joined: [bool; 2],
    /// Whether messages of blocks have the application's datatypes.
    pub(crate) is_typed: bool,
}

impl BlockBuffers {
    /// The blocks of a memory, unless it is the vector in one piece, as scratch memory always is.
    fn apart(&self, slot: usize) -> Option<&BlockList> {
        const _: () = assert!(INPUT == 0 && OUTPUT == 1);
        let list = self.lists.get(slot)?;
        (!self.are_joined[slot]).then_some(list)
    }
}

/// One end of a copy of a block.
#[derive(Clone, Copy)]
struct BlockEnd<'a> {
    slot: usize,
    /// The offset of its first element in its memory; negative ones wrap around.
    start: usize,
    bytes: u64,
    /// The block, unless it is in a vector in one piece.
    block: Option<PlacedBlock<'a>>,
}

impl BlockEnd<'_> {
    /// Its memory, if that is its data.
    fn as_place(&self) -> MemoryPlace {
        MemoryPlace {
            slot: self.slot,
            start: self.start,
            length: self.bytes as usize,
        }
    }

    fn is_dense(&self) -> bool {
        self.block.is_none_or(|block| block.is_dense())
    }
}

/// Whether the memory of both can be copied as it is.
fn can_be_copied(from: &BlockEnd<'_>, into: &BlockEnd<'_>) -> bool {
    let are_alike = match (from.block, into.block) {
        // A type with which data is received has no byte twice.
        (Some(from), Some(into)) => {
            from.datatype.raw() == into.datatype.raw() && from.datatype.has_no_gaps()
        }
        _ => false,
    };
    are_alike || from.is_dense() && into.is_dense()
}

impl DerivedDatatypes {
    fn clear_pieces(&mut self) {
        self.lengths.clear();
        self.starts.clear();
    }

    /// Adds `count` elements at an offset, in pieces that a C `int` can count; as one piece with the one before if they
    /// follow it.
    fn add_piece(&mut self, offset: isize, count: i64, extent: isize) {
        let (mut next, mut left) = (offset, count);
        if let Some(length) = self.lengths.last_mut()
            && self.end == offset
        {
            let more = left.min((c_int::MAX - *length).into());
            *length += more as c_int;
            next = next.wrapping_add((more as isize).wrapping_mul(extent));
            left -= more;
        }
        while left > 0 {
            let piece = left.min(c_int::MAX.into());
            self.lengths.push(piece as c_int);
            self.starts.push(next as ffi::MPI_Aint);
            next = next.wrapping_add((piece as isize).wrapping_mul(extent));
            left -= piece;
        }
        self.end = next;
    }

    /// The start, the count and the datatype of a message of the pieces.
    fn message_of_pieces(
        &mut self,
        datatype: ffi::MPI_Datatype,
    ) -> Result<(usize, c_int, ffi::MPI_Datatype), ExecError> {
        if let ([length], [start]) = (&self.lengths[..], &self.starts[..]) {
            return Ok((*start as usize, *length, datatype));
        }
        let made = DerivedDatatype::from_blocks(&self.lengths, &self.starts, datatype)?;
        let raw = made.raw();
        self.made.push(made);
        Ok((0, 1, raw))
    }
}

impl Resolver {
    /// One end of a message; `None` if it has no data.
    pub(crate) fn block_transfer(
        &self,
        buffers: &BlockBuffers,
        peer: u32,
        span: &Span,
        derived: &mut DerivedDatatypes,
    ) -> Result<Option<Transfer>, ExecError> {
        let (slot, runs) = self.locate_span(span);
        if runs.iter().all(|run| run.is_empty()) {
            return Ok(None);
        }
        let transfer = match buffers.apart(slot) {
            None => self.transfer_of_bytes(peer, slot, runs, derived)?,
            Some(list) if buffers.is_typed => {
                self.transfer_of_blocks(peer, slot, (list, span), derived)?
            }
            Some(list) => {
                // One block: where messages may have several, the buffer would be joined.
                let block = list.block_of(span.blocks.start);
                let bytes = Run::from(block.data_range());
                self.transfer_of_bytes(peer, slot, [bytes, Run::default()], derived)?
            }
        };
        Ok(Some(transfer))
    }

    fn transfer_of_bytes(
        &self,
        peer: u32,
        slot: usize,
        runs: [Run; 2],
        derived: &mut DerivedDatatypes,
    ) -> Result<Transfer, ExecError> {
        let mut transfer = Transfer {
            peer: self.library_rank_of(peer),
            place: self.place_of(peer),
            slot,
            runs,
            start: runs[0].start as usize,
            count: 0,
            datatype: self.unit.datatype,
            is_repeated: false,
            arrival: None,
            message: self.unit.message_size(&runs),
        };
        if transfer.place.is_none() {
            derived.clear_pieces();
            for piece in runs.into_iter().flat_map(Run::pieces) {
                let length = piece.end - piece.start;
                derived.add_piece(piece.start as isize, length as i64, 1);
            }
            (transfer.start, transfer.count, transfer.datatype) =
                derived.message_of_pieces(self.unit.datatype)?;
        }
        Ok(transfer)
    }

    /// A message of blocks of one datatype, which goes through MPI.
    fn transfer_of_blocks(
        &self,
        peer: u32,
        slot: usize,
        (list, span): (&BlockList, &Span),
        derived: &mut DerivedDatatypes,
    ) -> Result<Transfer, ExecError> {
        derived.clear_pieces();
        let mut datatype = self.unit.datatype;
        // Of several blocks, all memory between the first and the last, which is only compared with that of others.
        let mut touched: Option<(u64, u64)> = None;
        for block in blocks_of(span).map(|rank| list.block_of(rank)) {
            if block.size > 0 {
                derived.add_piece(block.offset, block.count, block.datatype.extent());
                datatype = block.datatype.raw();
                let range = block.data_range();
                let (low, high) = touched.unwrap_or((range.start, range.end));
                touched = Some((low.min(range.start), high.max(range.end)));
            }
        }
        let (start, count, datatype) = derived.message_of_pieces(datatype)?;
        let (low, high) = touched.unwrap_or_default();
        Ok(Transfer {
            peer: self.library_rank_of(peer),
            place: None,
            slot,
            runs: [Run::from(low..high), Run::default()],
            start,
            count,
            datatype,
            is_repeated: false,
            arrival: None,
            message: self.unit.message_size(&[]),
        })
    }

    /// Adds a copy of some blocks to the same blocks elsewhere.
    pub(crate) fn add_block_copies(
        &self,
        buffers: &BlockBuffers,
        from: &Span,
        into: &Span,
        steps: &mut Steps,
    ) -> Result<(), ExecError> {
        let are_blocks = [from, into]
            .iter()
            .all(|span| matches!(span.partition, Partition::PerRank { chunks: 1, .. }));
        if !are_blocks {
            self.add_copy(from, into, &mut steps.work);
            return Ok(());
        }
        for (left, arriving) in blocks_of(from).zip(blocks_of(into)) {
            let ends = [(from, left), (into, arriving)].map(|(span, block)| {
                self.block_end(buffers, &Span::block(span.buffer, span.partition, block))
            });
            let [source, target] = ends;
            assert_eq!(source.bytes, target.bytes, "a copy of another length");
            if source.bytes == 0 || (source.slot, source.start) == (target.slot, target.start) {
                continue;
            }
            if can_be_copied(&source, &target) {
                steps.work.push(Work::Copy {
                    from: source.as_place(),
                    into: target.as_place(),
                });
            } else {
                let sent = self.message_to_itself(&source, &mut steps.derived)?;
                let received = self.message_to_itself(&target, &mut steps.derived)?;
                steps.sends.push(sent);
                steps.recvs.push(received);
            }
        }
        Ok(())
    }

    fn block_end<'a>(&self, buffers: &'a BlockBuffers, span: &Span) -> BlockEnd<'a> {
        let (slot, [run, _]) = self.locate_span(span);
        let block = buffers
            .apart(slot)
            .map(|list| list.block_of(span.blocks.start));
        BlockEnd {
            slot,
            start: block.map_or(run.start as usize, |block| block.offset as usize),
            bytes: run.units(),
            block,
        }
    }

    /// One end of a message from this rank to itself, through MPI.
    fn message_to_itself(
        &self,
        end: &BlockEnd<'_>,
        derived: &mut DerivedDatatypes,
    ) -> Result<Transfer, ExecError> {
        derived.clear_pieces();
        let (datatype, touched) = match end.block {
            Some(block) => {
                derived.add_piece(block.offset, block.count, block.datatype.extent());
                (block.datatype.raw(), block.data_range())
            }
            None => {
                derived.add_piece(end.start as isize, end.bytes as i64, 1);
                let start = end.start as u64;
                (self.unit.datatype, start..start + end.bytes)
            }
        };
        let (start, count, datatype) = derived.message_of_pieces(datatype)?;
        Ok(Transfer {
            peer: self.library_rank_of(self.rank),
            place: None,
            slot: end.slot,
            runs: [Run::from(touched), Run::default()],
            start,
            count,
            datatype,
            is_repeated: false,
            arrival: None,
            message: self.unit.message_size(&[]),
        })
    }
}

/// The blocks of a span, by rank.
fn blocks_of(span: &Span) -> impl Iterator<Item = u64> + use<> {
    span.unwrapped_pieces()
        .flat_map(|piece| piece.blocks.start..piece.blocks.start + piece.blocks.count)
}

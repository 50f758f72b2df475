//! The arguments of irregular collectives in measured calls, whose blocks follow each other.

use std::ffi::{c_int, c_void};

use schedule::Collective;

use crate::api::{datatype_handle, mpi_count};
use crate::constants::{MPI_Datatype, in_place};
use crate::{Call, ExecError, RawBlocks, RawIrregularCall};

/// One rank's arguments of an irregular collective, except for the buffers.
#[derive(Debug)]
pub(crate) struct CountedArguments {
    collective: Collective,
    root: c_int,
    is_in_place: bool,
    sent: OwnedBlocks,
    received: OwnedBlocks,
}

/// The blocks of a buffer, one after the other.
#[derive(Debug)]
struct OwnedBlocks {
    /// The numbers of elements: of one block, or of a block for each rank.
    counts: Vec<c_int>,
    /// In elements or, in an alltoallw, in bytes.
    displacements: Vec<c_int>,
    datatype: MPI_Datatype,
    /// A type for each block of an alltoallw.
    datatypes: Vec<MPI_Datatype>,
    is_of_ranks: bool,
}

impl CountedArguments {
    /// The arguments of one of `ranks` ranks.
    pub(crate) fn new(call: &Call, rank: u32, ranks: u32) -> Result<Self, ExecError> {
        let collective = call.collective;
        let blocks = |elements: Vec<u64>, is_of_ranks| {
            let is_typed = collective == Collective::Alltoallw;
            OwnedBlocks::new(call, &elements, is_of_ranks, is_typed)
        };
        let own = |part: u64| blocks(vec![part], false);
        let (sent, received) = if collective.has_block_counts() {
            let [row, column] = [true, false].map(|is_row| {
                let block = |peer| call.block_elements(ranks, rank, peer, is_row);
                (0..ranks).map(block).collect()
            });
            (blocks(row, true)?, blocks(column, true)?)
        } else {
            let parts = call.all_part_elements(ranks);
            let part = parts[rank as usize];
            let sends_all = collective == Collective::Scatterv;
            if sends_all {
                (blocks(parts, true)?, own(part)?)
            } else {
                (own(part)?, blocks(parts, true)?)
            }
        };
        Ok(Self {
            collective,
            root: call.root as c_int,
            is_in_place: call.is_in_place_on(rank),
            sent,
            received,
        })
    }

    /// The call's arguments on these buffers.
    #[inline]
    pub(crate) fn on(&self, input: *const c_void, output: *mut c_void) -> RawIrregularCall {
        let mut call = RawIrregularCall {
            collective: self.collective,
            send: input,
            sent: self.sent.as_raw(),
            recv: output,
            received: self.received.as_raw(),
            root: self.root,
        };
        match (self.is_in_place, self.collective) {
            (true, Collective::Scatterv) => call.recv = in_place().cast_mut(),
            (true, _) => call.send = in_place(),
            (false, _) => {}
        }
        call
    }
}

impl OwnedBlocks {
    fn new(
        call: &Call,
        elements: &[u64],
        is_of_ranks: bool,
        is_typed: bool,
    ) -> Result<Self, ExecError> {
        let datatype = datatype_handle(call.datatype);
        let unit = if is_typed {
            call.datatype.size_bytes()
        } else {
            1
        };
        let mut start = 0_u64;
        let mut displacements = Vec::with_capacity(elements.len());
        for count in elements {
            displacements.push(mpi_count(start.saturating_mul(unit))?);
            start = start.saturating_add(*count);
        }
        Ok(Self {
            counts: elements
                .iter()
                .map(|count| mpi_count(*count))
                .collect::<Result<_, _>>()?,
            displacements,
            datatype,
            datatypes: if is_typed {
                vec![datatype; elements.len()]
            } else {
                Vec::new()
            },
            is_of_ranks,
        })
    }

    #[inline]
    fn as_raw(&self) -> RawBlocks {
        let (counts, displacements) = (self.counts.as_ptr(), self.displacements.as_ptr());
        if !self.datatypes.is_empty() {
            RawBlocks::with_types(counts, displacements, self.datatypes.as_ptr())
        } else if self.is_of_ranks {
            RawBlocks::of_ranks(counts, displacements, self.datatype)
        } else {
            RawBlocks::one(self.counts[0], self.datatype)
        }
    }
}

//! The library's own collectives.

use std::ffi::{c_int, c_void};

use mpi::ffi;
use schedule::Collective;

use crate::api::{check, count, datatype, length, operator};
use crate::{Call, Communicator, ExecError, constants};

/// A collective as the library carries it out by itself.
#[derive(Debug)]
pub struct LibraryCall {
    collective: Collective,
    /// Bytes that the input and the output of this rank must hold.
    lengths: [usize; 2],
    /// Elements in the length of the call.
    count: c_int,
    /// Elements of each rank's part of a `reduce_scatter`.
    counts: Vec<c_int>,
    datatype: ffi::MPI_Datatype,
    operator: Option<ffi::MPI_Op>,
    root: c_int,
    /// Whether this rank gives `MPI_IN_PLACE`.
    is_in_place: bool,
}

impl LibraryCall {
    /// Prepares the call of one of `ranks`.
    pub(crate) fn new(call: &Call, rank: u32, ranks: u32) -> Result<Self, ExecError> {
        let operator = call.operator.map(operator);
        let collective = call.collective;
        if collective.is_reduction() && operator.is_none() {
            return Err(ExecError::NoOperator);
        }
        let counts = match collective {
            Collective::ReduceScatter => 0..ranks,
            _ => 0..0,
        };
        Ok(Self {
            collective,
            lengths: [
                length(call.input_bytes(rank, ranks))?,
                length(call.output_bytes(rank, ranks))?,
            ],
            count: count(call.bytes / call.datatype.size_bytes())?,
            counts: counts
                .map(|rank| count(call.part_elements(rank, ranks)))
                .collect::<Result<_, _>>()?,
            datatype: datatype(call.datatype),
            operator,
            root: call.root as c_int,
            is_in_place: call.in_place
                && collective.allows_in_place()
                && (rank == call.root || !collective.is_rooted()),
        })
    }

    /// Makes the call.
    ///
    /// # Panics
    ///
    /// If a buffer is shorter than the call says.
    pub(crate) fn call(
        &self,
        communicator: &Communicator,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), ExecError> {
        assert!(input.len() >= self.lengths[0] && output.len() >= self.lengths[1]);
        let in_place = constants::in_place();
        let (mut send, mut recv) = (input.as_ptr().cast(), output.as_mut_ptr().cast());
        match self.collective {
            Collective::Scatter if self.is_in_place => recv = in_place.cast_mut(),
            _ if self.is_in_place => send = in_place,
            _ => {}
        }
        // SAFETY: the buffers hold what the call says on this rank and do not overlap.
        unsafe {
            match self.operator.filter(|_| self.collective.is_reduction()) {
                Some(operator) => self.combine(communicator, send, recv, operator),
                None => self.move_data(communicator, send, recv),
            }
        }
    }

    /// Makes a broadcast's call at its root, which only reads.
    ///
    /// # Panics
    ///
    /// If the data is shorter than the call says, or another collective was prepared.
    pub(crate) fn send_bcast(
        &self,
        communicator: &Communicator,
        data: &[u8],
    ) -> Result<(), ExecError> {
        assert!(self.collective == Collective::Bcast && data.len() >= self.lengths[1]);
        // SAFETY: the data is as long as the call says, and a root writes nothing.
        unsafe {
            self.move_data(
                communicator,
                std::ptr::null(),
                data.as_ptr().cast_mut().cast(),
            )
        }
    }

    /// # Safety
    ///
    /// As MPI asks of the call.
    unsafe fn move_data(
        &self,
        communicator: &Communicator,
        send: *const c_void,
        recv: *mut c_void,
    ) -> Result<(), ExecError> {
        let (count, datatype, root, raw) =
            (self.count, self.datatype, self.root, communicator.raw());
        // SAFETY: the caller's.
        unsafe {
            match self.collective {
                Collective::Gather => check(
                    "MPI_Gather",
                    ffi::MPI_Gather(send, count, datatype, recv, count, datatype, root, raw),
                ),
                Collective::Scatter => check(
                    "MPI_Scatter",
                    ffi::MPI_Scatter(send, count, datatype, recv, count, datatype, root, raw),
                ),
                Collective::Allgather => check(
                    "MPI_Allgather",
                    ffi::MPI_Allgather(send, count, datatype, recv, count, datatype, raw),
                ),
                Collective::Alltoall => check(
                    "MPI_Alltoall",
                    ffi::MPI_Alltoall(send, count, datatype, recv, count, datatype, raw),
                ),
                Collective::Barrier => check("MPI_Barrier", ffi::MPI_Barrier(raw)),
                _ => check(
                    "MPI_Bcast",
                    ffi::MPI_Bcast(recv, count, datatype, root, raw),
                ),
            }
        }
    }

    /// # Safety
    ///
    /// As MPI asks of the call.
    unsafe fn combine(
        &self,
        communicator: &Communicator,
        send: *const c_void,
        recv: *mut c_void,
        operator: ffi::MPI_Op,
    ) -> Result<(), ExecError> {
        let (count, datatype, raw) = (self.count, self.datatype, communicator.raw());
        // SAFETY: the caller's; there is a count a rank.
        unsafe {
            match self.collective {
                Collective::Reduce => check(
                    "MPI_Reduce",
                    ffi::MPI_Reduce(send, recv, count, datatype, operator, self.root, raw),
                ),
                Collective::ReduceScatter => check(
                    "MPI_Reduce_scatter",
                    ffi::MPI_Reduce_scatter(
                        send,
                        recv,
                        self.counts.as_ptr(),
                        datatype,
                        operator,
                        raw,
                    ),
                ),
                Collective::ReduceScatterBlock => check(
                    "MPI_Reduce_scatter_block",
                    ffi::MPI_Reduce_scatter_block(send, recv, count, datatype, operator, raw),
                ),
                Collective::Scan => check(
                    "MPI_Scan",
                    ffi::MPI_Scan(send, recv, count, datatype, operator, raw),
                ),
                _ => check(
                    "MPI_Allreduce",
                    ffi::MPI_Allreduce(send, recv, count, datatype, operator, raw),
                ),
            }
        }
    }
}

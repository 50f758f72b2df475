//! The library's own collectives.

use std::ffi::c_int;

use schedule::Collective;

use crate::api::{buffer_length, check_code, datatype_handle, mpi_count, operator_handle};
use crate::counted::CountedArguments;
use crate::{Call, Communicator, ExecError, RawCall, RawIrregularCall, constants};

/// A collective carried out by the library's own decision.
#[derive(Debug)]
pub struct LibraryCall {
    /// `MPI_Bcast` and so on.
    name: &'static str,
    /// All arguments except buffers and counts.
    arguments: RawCall,
    /// The number of elements in each rank's part of a `reduce_scatter`.
    counts: Vec<c_int>,
    /// The arguments of an irregular collective.
    irregular: Option<Box<CountedArguments>>,
    /// The least sizes in bytes of this rank's input and output.
    lengths: [usize; 2],
    /// Whether this rank passes `MPI_IN_PLACE`.
    is_in_place: bool,
}

impl LibraryCall {
    /// Prepares the call of one of `ranks` ranks.
    ///
    /// # Errors
    ///
    /// If the call is too large for MPI, or a reduction has no operator.
    pub fn new(call: &Call, rank: u32, ranks: u32) -> Result<Self, ExecError> {
        let operator = call
            .operator
            .map(|of_call| operator_handle(of_call, call.datatype))
            .transpose()?;
        let collective = call.collective;
        if collective.is_reduction() && operator.is_none() {
            return Err(ExecError::NoOperator);
        }
        let counts = match collective {
            Collective::ReduceScatter => 0..ranks,
            _ => 0..0,
        };
        let irregular = collective
            .is_irregular()
            .then(|| CountedArguments::new(call, rank, ranks).map(Box::new))
            .transpose()?;
        let elements = if collective.is_irregular() {
            0
        } else {
            mpi_count(call.bytes / call.datatype.size_bytes())?
        };
        let datatype = datatype_handle(call.datatype);
        let (nowhere, room) = (std::ptr::null(), std::ptr::null_mut());
        let arguments = RawCall::new(collective, nowhere, room, elements, datatype)
            .with_sent_elements(elements, datatype)
            .with_root(call.root as c_int);
        Ok(Self {
            name: mpi_name(collective),
            arguments: operator.map_or(arguments, |operator| arguments.with_operator(operator)),
            counts: counts
                .map(|owner| mpi_count(call.part_elements(owner, ranks)))
                .collect::<Result<_, _>>()?,
            irregular,
            lengths: [
                buffer_length(call.input_bytes(rank, ranks))?,
                buffer_length(call.output_bytes(rank, ranks))?,
            ],
            is_in_place: call.is_in_place_on(rank),
        })
    }

    /// Its name in MPI's C interface.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The call's arguments on these buffers, unless the collective is irregular ([`Self::irregular_on`]).
    ///
    /// # Panics
    ///
    /// If a buffer is too short for the call.
    #[inline]
    pub fn arguments_on(&self, input: &[u8], output: &mut [u8]) -> RawCall {
        assert!(input.len() >= self.lengths[0] && output.len() >= self.lengths[1]);
        let mut arguments = self.arguments;
        arguments.send = input.as_ptr().cast();
        arguments.recv = output.as_mut_ptr().cast();
        arguments.counts = self.counts.as_ptr().into();
        let in_place = constants::in_place();
        match self.is_in_place {
            true if arguments.collective == Collective::Scatter => {
                arguments.recv = in_place.cast_mut();
            }
            true => arguments.send = in_place,
            false => {}
        }
        arguments
    }

    /// The same for an irregular collective; `None` for any other.
    ///
    /// # Panics
    ///
    /// If a buffer is too short for the call.
    #[inline]
    pub fn irregular_on(&self, input: &[u8], output: &mut [u8]) -> Option<RawIrregularCall> {
        let irregular = self.irregular.as_ref()?;
        assert!(input.len() >= self.lengths[0] && output.len() >= self.lengths[1]);
        Some(irregular.on(input.as_ptr().cast(), output.as_mut_ptr().cast()))
    }

    /// Makes the call.
    ///
    /// # Panics
    ///
    /// If a buffer is too short for the call.
    #[inline]
    pub(crate) fn call(
        &self,
        communicator: &Communicator,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), ExecError> {
        if let Some(arguments) = self.irregular_on(input, output) {
            // SAFETY: the buffers hold what the call says on this rank and do not overlap.
            return check_code(self.name, unsafe { arguments.call(communicator.raw()) });
        }
        let arguments = self.arguments_on(input, output);
        // SAFETY: the buffers hold what the call says on this rank and do not overlap.
        check_code(self.name, unsafe { arguments.call(communicator.raw()) })
    }

    /// Makes the root's call of a broadcast, which only reads.
    ///
    /// # Panics
    ///
    /// If the data is too short for the call, or the call is of another collective.
    pub(crate) fn send_bcast(
        &self,
        communicator: &Communicator,
        data: &[u8],
    ) -> Result<(), ExecError> {
        let is_bcast = self.arguments.collective == Collective::Bcast;
        assert!(is_bcast && data.len() >= self.lengths[1]);
        let arguments = RawCall {
            recv: data.as_ptr().cast_mut().cast(),
            ..self.arguments
        };
        // SAFETY: the data is as long as the call says, and a root writes nothing.
        check_code(self.name, unsafe { arguments.call(communicator.raw()) })
    }
}

/// The name of a collective in MPI's C interface.
fn mpi_name(collective: Collective) -> &'static str {
    match collective {
        Collective::Bcast => "MPI_Bcast",
        Collective::Reduce => "MPI_Reduce",
        Collective::Allreduce => "MPI_Allreduce",
        Collective::Gather => "MPI_Gather",
        Collective::Scatter => "MPI_Scatter",
        Collective::Allgather => "MPI_Allgather",
        Collective::ReduceScatter => "MPI_Reduce_scatter",
        Collective::ReduceScatterBlock => "MPI_Reduce_scatter_block",
        Collective::Alltoall => "MPI_Alltoall",
        Collective::Barrier => "MPI_Barrier",
        Collective::Scan => "MPI_Scan",
        Collective::Exscan => "MPI_Exscan",
        Collective::Alltoallv => "MPI_Alltoallv",
        Collective::Alltoallw => "MPI_Alltoallw",
        Collective::Allgatherv => "MPI_Allgatherv",
        Collective::Gatherv => "MPI_Gatherv",
        Collective::Scatterv => "MPI_Scatterv",
    }
}

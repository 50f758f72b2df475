//! A candidate, ready to be called.

use schedule::{Collective, Request, Schedule};
use wire::{Candidate, Cell, Datatype, Operator};

use crate::{Communicator, ExecError, Executor, LibraryCall};

/// The arguments of a collective that are the same on all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The collective.
    pub collective: Collective,
    /// Bytes of one rank's vector.
    pub bytes: u64,
    /// Element type.
    pub datatype: Datatype,
    /// Operator of a reduction.
    pub operator: Option<Operator>,
    /// The root of a rooted collective.
    pub root: u32,
}

impl From<&Cell> for Call {
    /// The call that a cell measures; its root is rank 0.
    fn from(cell: &Cell) -> Self {
        let Cell {
            collective,
            bytes,
            datatype,
            operator,
            ..
        } = *cell;
        Self {
            collective,
            bytes,
            datatype,
            operator,
            root: 0,
        }
    }
}

impl Call {
    /// Bytes of the schedule's unit: an element where data is combined, a byte where it is moved.
    pub fn unit_bytes(&self) -> u64 {
        if self.collective.is_reduction() {
            self.datatype.size_bytes()
        } else {
            1
        }
    }
}

/// A candidate bound to a call on a communicator. Calling it again does not allocate.
#[derive(Debug)]
pub enum Runner {
    /// The library's own collective.
    Library(LibraryCall),
    /// One of our schedules.
    Ours(Box<Executor>),
}

impl Runner {
    /// Prepares a candidate.
    ///
    /// # Errors
    ///
    /// If this build does not know the candidate or it cannot serve the call.
    pub fn new(
        candidate: &Candidate,
        call: &Call,
        communicator: &Communicator,
    ) -> Result<Self, ExecError> {
        match candidate {
            Candidate::Default => LibraryCall::new(call).map(Self::Library),
            Candidate::Ours {
                algorithm,
                parameters,
            } => {
                let found = schedule::find(algorithm)
                    .filter(|found| found.collective == call.collective)
                    .ok_or_else(|| ExecError::UnknownAlgorithm(algorithm.clone()))?;
                let unit_bytes = call.unit_bytes();
                let request = Request {
                    ranks: communicator.size(),
                    root: call.root,
                    in_place: false,
                    units: call.bytes / unit_bytes,
                    parameters: parameters.in_units(unit_bytes),
                };
                let schedule = Schedule::new(found, &request)?;
                Executor::new(&schedule, call, communicator.rank())
                    .map(Box::new)
                    .map(Self::Ours)
            }
        }
    }

    /// Carries out the collective. `input` and `output` hold the call's bytes on every rank; in a
    /// broadcast only `output` is used. In a reduction both are aligned to the size of the datatype,
    /// as [`crate::Bytes`] always are.
    ///
    /// # Errors
    ///
    /// If MPI reports an error; the communicator must then not be used again.
    ///
    /// # Panics
    ///
    /// If a buffer is shorter than the call's bytes, or not aligned.
    pub fn call(
        &mut self,
        communicator: &Communicator,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), ExecError> {
        match self {
            Self::Library(call) => call.call(communicator, input, output),
            Self::Ours(executor) => executor.call(communicator, input, output),
        }
    }
}

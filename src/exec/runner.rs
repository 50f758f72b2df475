//! A candidate, ready to be called.

use schedule::{Request, Schedule};
use wire::Candidate;

use crate::{Call, Communicator, ExecError, Executor, LibraryCall, Wait};

/// A candidate bound to a call on a communicator. Calling it again does not allocate.
#[derive(Debug)]
pub enum Runner {
    /// The library's own collective.
    Library(LibraryCall),
    /// One of our schedules.
    Ours(Box<Executor>),
}

impl Runner {
    /// Prepares a candidate. How the library's own collectives wait is up to the library.
    ///
    /// # Errors
    ///
    /// If this build does not know the candidate or it cannot serve the call.
    pub fn new(
        candidate: &Candidate,
        call: &Call,
        communicator: &Communicator,
        wait: Wait,
    ) -> Result<Self, ExecError> {
        let (rank, ranks) = (communicator.rank(), communicator.size());
        match candidate {
            Candidate::Default => LibraryCall::new(call, rank, ranks).map(Self::Library),
            Candidate::Ours {
                algorithm,
                parameters,
            } => {
                let found = schedule::find(algorithm)
                    .filter(|found| found.collective == call.collective)
                    .ok_or_else(|| ExecError::UnknownAlgorithm(algorithm.clone()))?;
                let unit_bytes = call.unit_bytes();
                let request = Request {
                    ranks,
                    root: call.root,
                    in_place: call.in_place,
                    // All operators that are measured commute.
                    commutative: true,
                    units: call.bytes / unit_bytes,
                    counts: None,
                    parameters: parameters.in_units(unit_bytes),
                };
                let schedule = Schedule::new(found, &request)?;
                Executor::new(&schedule, call, rank, wait)
                    .map(Box::new)
                    .map(Self::Ours)
            }
        }
    }

    /// Carries out the collective. `input` and `output` hold what [`Call::input_bytes`] and
    /// [`Call::output_bytes`] say for this rank; what a rank does not have may be empty. In a
    /// reduction both are aligned to the size of the datatype, as [`crate::Bytes`] always are.
    ///
    /// # Errors
    ///
    /// If MPI reports an error; the communicator must then not be used again.
    ///
    /// # Panics
    ///
    /// If a buffer is too short or not aligned.
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

//! A candidate, ready to be called.

use vocabulary::{Candidate, Parameters};

use crate::tool::Switched;
use crate::{
    Call, Communicator, ExecError, IrregularCall, IrregularShape, LibraryCall, MockupCall,
    NativeCall, ScheduleExecutor, Wait,
};

/// A candidate bound to a call on a communicator. Calling it again does not allocate.
#[derive(Debug)]
pub enum Runner {
    /// The library's own decision.
    Library(LibraryCall),
    /// One of the library's algorithms.
    Native(Box<NativeCall>),
    /// A mock-up of the library's other collectives.
    Mockup(Box<MockupCall>),
    /// One of our schedules.
    Ours(Box<ScheduleExecutor>),
    /// One of our schedules for an irregular collective.
    Irregular(Box<CountedCall>),
}

/// An irregular collective's call with the same counts each time.
#[derive(Debug)]
pub struct CountedCall {
    ours: IrregularCall,
    /// The arguments, which are those of the library's function.
    arguments: LibraryCall,
}

impl CountedCall {
    fn new(
        algorithm: &str,
        parameters: &Parameters,
        call: &Call,
        communicator: &Communicator,
        wait: Wait,
    ) -> Result<Self, ExecError> {
        let found = schedule::find_algorithm(algorithm)
            .filter(|found| found.collective == call.collective)
            .ok_or_else(|| ExecError::UnknownAlgorithm(algorithm.to_owned()))?;
        let (rank, ranks) = (communicator.rank(), communicator.size());
        let shape = IrregularShape {
            root: call.root,
            in_place: call.is_in_place_on(rank),
            total_bytes: call.bytes,
        };
        Ok(Self {
            ours: IrregularCall::new(found, parameters, shape, communicator, wait)?,
            arguments: LibraryCall::new(call, rank, ranks)?,
        })
    }

    fn call(
        &mut self,
        communicator: &Communicator,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), ExecError> {
        match self.arguments.irregular_on(input, output) {
            // SAFETY: the buffers are as long as the call says and do not overlap, and the shape is that of the call.
            Some(arguments) => unsafe { self.ours.call(communicator, &arguments) },
            None => Ok(()),
        }
    }
}

impl Runner {
    /// Prepares a candidate. `wait` does not apply to the library's own collectives. Collective over the
    /// communicator, which a forced algorithm of the library may duplicate.
    ///
    /// # Errors
    ///
    /// If this build does not know the candidate, or the candidate cannot serve the call.
    pub fn new(
        candidate: &Candidate,
        call: &Call,
        communicator: &Communicator,
        wait: Wait,
    ) -> Result<Self, ExecError> {
        let (rank, ranks) = (communicator.rank(), communicator.size());
        match candidate {
            Candidate::Default | Candidate::Placebo => {
                LibraryCall::new(call, rank, ranks).map(Self::Library)
            }
            Candidate::Native {
                algorithm,
                parameters,
            } => NativeCall::new(algorithm, parameters, call, communicator)
                .map(Box::new)
                .map(Self::Native),
            Candidate::Mockup { algorithm } => MockupCall::new(algorithm, call, rank, ranks)
                .map(Box::new)
                .map(Self::Mockup),
            Candidate::Foreign { algorithm, .. } => {
                Err(ExecError::UnknownAlgorithm(algorithm.clone()))
            }
            Candidate::Ours {
                algorithm,
                parameters,
            } if call.collective.is_irregular() => {
                CountedCall::new(algorithm, parameters, call, communicator, wait)
                    .map(Box::new)
                    .map(Self::Irregular)
            }
            Candidate::Ours {
                algorithm,
                parameters,
            } => {
                let schedule = call.schedule_with(algorithm, parameters, communicator.nodes())?;
                ScheduleExecutor::new(&schedule, call, communicator, parameters.through, wait)
                    .map(Box::new)
                    .map(Self::Ours)
            }
        }
    }

    /// Prepares for a series of calls. Until the turn has ended nothing else may call the library's collectives, as a
    /// forced algorithm would carry them out, too.
    ///
    /// # Errors
    ///
    /// If the library's algorithm cannot be forced.
    pub fn begin_turn(&mut self) -> Result<Turn<'_>, ExecError> {
        Ok(Turn(match self {
            Self::Library(call) => ReadyCall::Library(call, None, Switched::default()),
            Self::Native(call) => {
                let (call, communicator, switched) = call.force_algorithm()?;
                ReadyCall::Library(call, communicator, switched)
            }
            Self::Mockup(call) => ReadyCall::Mockup(call),
            Self::Ours(executor) => ReadyCall::Ours(executor),
            Self::Irregular(call) => ReadyCall::Irregular(call),
        }))
    }

    /// Carries out the collective once, in its own turn: [`Turn::call`].
    ///
    /// # Errors
    ///
    /// As [`Runner::begin_turn`], [`Turn::call`] and [`Turn::end_turn`].
    ///
    /// # Panics
    ///
    /// As [`Turn::call`].
    pub fn call_once(
        &mut self,
        communicator: &Communicator,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), ExecError> {
        let mut turn = self.begin_turn()?;
        turn.call(communicator, input, output)?;
        turn.end_turn()
    }
}

/// A candidate during its turn, ready for repeated calls.
#[derive(Debug)]
pub struct Turn<'a>(ReadyCall<'a>);

#[derive(Debug)]
enum ReadyCall<'a> {
    /// A call of the library, on the candidate's own communicator if it has one.
    Library(&'a LibraryCall, Option<&'a Communicator>, Switched<'a>),
    Mockup(&'a mut MockupCall),
    Ours(&'a mut ScheduleExecutor),
    Irregular(&'a mut CountedCall),
}

impl Turn<'_> {
    /// Carries out the collective. The sizes of `input` and `output` are [`Call::input_bytes`] and
    /// [`Call::output_bytes`] for this rank; buffers that the rank does not have may be empty. In a reduction both
    /// are aligned to the size of the datatype, as [`crate::Bytes`] always are.
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
        match &mut self.0 {
            ReadyCall::Library(call, own, _) => {
                call.call(own.unwrap_or(communicator), input, output)
            }
            ReadyCall::Mockup(call) => call.call(communicator, input, output),
            ReadyCall::Ours(executor) => executor.call(communicator, input, output),
            ReadyCall::Irregular(call) => call.call(communicator, input, output),
        }
    }

    /// Restores the library's own decisions. Dropping a turn does the same, but ignores errors.
    ///
    /// # Errors
    ///
    /// If the library reports an error.
    pub fn end_turn(self) -> Result<(), ExecError> {
        match self.0 {
            ReadyCall::Library(_, _, switched) => switched.restore(),
            ReadyCall::Mockup(_) | ReadyCall::Ours(_) | ReadyCall::Irregular(_) => Ok(()),
        }
    }
}

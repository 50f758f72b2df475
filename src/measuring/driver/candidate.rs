//! Candidates ready to be called.
//!
//! A candidate of ours is called as programs with a table call it (`runtime::DeployedCall`). Candidates of the library,
//! the default among them, are called by MPI's own names. All candidates of a cell that use shared memory have the same
//! channels. A placebo is the default under another name: if it does not take as long as the default, the measurement
//! is biased, and the report says so.
//!
//! In patterns of nonblocking calls, candidates are started and waited for, with computation between ([`computation`]) if
//! the pattern has any; the default is the library's nonblocking collective.
//!
//! [`computation`]: crate::computation

use std::rc::Rc;

use benchmarking::Failure;
use exec::{
    Call, Communicator, ExecError, LibraryCall, NoChannels, NodeChannels, PendingCall, Runner,
    Turn, Wait,
};
use runtime::{DeployedCall, RuntimeError, test_pending, wait_for_pending};
use vocabulary::{Candidate, NONBLOCKING, Pattern, Through};

use crate::computation::compute_beside;

use crate::error::{DriverError, failure_from_error, no_channels_failure};

/// A candidate bound to a cell's call.
pub(crate) enum CandidateCall<'a> {
    /// A candidate of the library, or a call that tables leave to the library. It has its own communicator, so that
    /// no other candidate receives messages that it left behind when it failed.
    Library(Runner, Box<Communicator>),
    /// One of our algorithms, called in the same way as by programs with a table. It makes its own private
    /// communicator.
    Ours(Box<DeployedCall>, &'a Communicator),
    /// The library's nonblocking collective.
    NonblockingLibrary(Box<LibraryCall>, Box<Communicator>),
    /// One of our algorithms in nonblocking calls.
    NonblockingOurs(Box<DeployedCall>, &'a Communicator),
}

/// A candidate during its turn.
pub(crate) enum CandidateTurn<'a> {
    Library(Turn<'a>, &'a Communicator),
    Ours(&'a DeployedCall, &'a Communicator),
    NonblockingLibrary(&'a LibraryCall, &'a Communicator),
    NonblockingOurs(&'a DeployedCall, &'a Communicator),
}

impl<'a> CandidateCall<'a> {
    /// Prepares a candidate for calls of a pattern, with the communicator's channels if they are available. Collective over the
    /// communicator. The inner result is the candidate's failure; the outer one is an error of MPI, such as no free
    /// communicator, which ends the launch.
    pub(crate) fn new(
        candidate: &Candidate,
        call: &Call,
        pattern: Pattern,
        communicator: &'a Communicator,
        channels: Result<&Rc<NodeChannels>, NoChannels>,
    ) -> Result<Result<Self, Failure>, DriverError> {
        if pattern.is_nonblocking() {
            return Self::new_nonblocking(candidate, call, communicator);
        }
        if let (Through::Shared, Err(reason)) = (candidate.parameters().through, channels) {
            return Ok(Err(no_channels_failure(reason)));
        }
        // Tables leave calls of a single rank to the library, and calls without data, apart from barriers.
        let has_work = call.bytes > 0 || !call.collective.has_data();
        let is_deployed = communicator.size() > 1 && has_work;
        if is_deployed && matches!(candidate, Candidate::Ours { .. }) {
            return match DeployedCall::new(candidate, call, communicator, channels.ok()) {
                Ok(deployed) => Ok(Ok(Self::Ours(Box::new(deployed), communicator))),
                Err(RuntimeError::Exec(error)) if !matches!(error, ExecError::Mpi { .. }) => {
                    Ok(Err(failure_from_error(&error)))
                }
                Err(error) => Err(error.into()),
            };
        }
        let own = communicator.duplicate().map_err(RuntimeError::from)?;
        // `Wait` does not apply to the library's own collectives.
        let runner = Runner::new(candidate, call, &own, Wait::Block);
        Ok(runner
            .map(|runner| Self::Library(runner, Box::new(own)))
            .map_err(|error| failure_from_error(&error)))
    }

    /// Prepares a candidate for nonblocking calls, likewise.
    fn new_nonblocking(
        candidate: &Candidate,
        call: &Call,
        communicator: &'a Communicator,
    ) -> Result<Result<Self, Failure>, DriverError> {
        let is_suited = NONBLOCKING.contains(&call.collective)
            && candidate.parameters().through == Through::Mpi;
        match candidate {
            Candidate::Ours { .. } if is_suited => {
                match DeployedCall::new_nonblocking(candidate, call, communicator) {
                    Ok(deployed) => Ok(Ok(Self::NonblockingOurs(Box::new(deployed), communicator))),
                    Err(RuntimeError::Exec(error)) if !matches!(error, ExecError::Mpi { .. }) => {
                        Ok(Err(failure_from_error(&error)))
                    }
                    Err(error) => Err(error.into()),
                }
            }
            Candidate::Default | Candidate::Placebo if is_suited => {
                let own = communicator.duplicate().map_err(RuntimeError::from)?;
                let prepared = LibraryCall::new(call, own.rank(), own.size());
                Ok(prepared
                    .map(|prepared| Self::NonblockingLibrary(Box::new(prepared), Box::new(own)))
                    .map_err(|error| failure_from_error(&error)))
            }
            _ => Ok(Err(Failure::unsupported(format!(
                "`{candidate}` cannot carry out nonblocking calls of {}",
                call.collective
            )))),
        }
    }

    /// Prepares the candidate for a series of calls: [`Runner::begin_turn`].
    pub(crate) fn begin_turn(&mut self) -> Result<CandidateTurn<'_>, ExecError> {
        Ok(match self {
            Self::Library(runner, own) => CandidateTurn::Library(runner.begin_turn()?, own),
            Self::Ours(call, communicator) => CandidateTurn::Ours(call, communicator),
            Self::NonblockingLibrary(call, own) => CandidateTurn::NonblockingLibrary(call, own),
            Self::NonblockingOurs(call, communicator) => {
                CandidateTurn::NonblockingOurs(call, communicator)
            }
        })
    }

    /// Carries out the collective for the first time, in its own turn.
    pub(crate) fn call_first_time(
        &mut self,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), Failure> {
        let mut turn = self
            .begin_turn()
            .map_err(|error| failure_from_error(&error))?;
        let called = turn
            .carry_out(input, output, 0)
            .and_then(|()| turn.end_turn());
        called.map_err(|error| failure_from_error(&error))?;
        let Self::Ours(call, _) = self else {
            return Ok(());
        };
        call.passed_on().map_or(Ok(()), |reason| {
            let message = format!("the library carried out the call: {reason}");
            Err(Failure::unsupported(message))
        })
    }
}

impl CandidateTurn<'_> {
    /// Carries out the collective ([`Turn::call`]), in a nonblocking call beside some steps of computation.
    #[inline]
    pub(crate) fn carry_out(
        &mut self,
        input: &[u8],
        output: &mut [u8],
        steps: u64,
    ) -> Result<(), ExecError> {
        match self {
            Self::Library(turn, communicator) => turn.call(communicator, input, output),
            Self::Ours(call, communicator) => call.call(communicator, input, output),
            Self::NonblockingLibrary(call, communicator) => {
                complete_beside(call.start(communicator, input, output)?, steps)
            }
            Self::NonblockingOurs(call, communicator) => {
                match call.start(communicator, input, output)? {
                    Some(pending) => complete_beside(pending, steps),
                    None => Err(ExecError::LeftToLibrary),
                }
            }
        }
    }

    /// Restores the library's own decisions: [`Turn::end_turn`].
    pub(crate) fn end_turn(self) -> Result<(), ExecError> {
        match self {
            Self::Library(turn, _) => turn.end_turn(),
            Self::Ours(..) | Self::NonblockingLibrary(..) | Self::NonblockingOurs(..) => Ok(()),
        }
    }
}

/// Takes some steps of computation, and waits for a call.
#[inline]
fn complete_beside(mut pending: PendingCall<'_>, steps: u64) -> Result<(), ExecError> {
    if steps > 0 {
        compute_beside(steps, || test_pending(&mut pending))?;
    }
    wait_for_pending(pending)
}

//! Candidates as they are called.

use std::rc::Rc;

use benchmarking::Failure;
use exec::{Call, Communicator, ExecError, NoChannels, NodeChannels, Runner, Turn, Wait};
use runtime::{DeployedCall, RuntimeError};
use vocabulary::{Candidate, Through};
use wire::FailureKind;

use crate::error::{DriverError, failure};

/// A candidate bound to a cell's call.
pub(crate) enum CandidateCall<'a> {
    /// A candidate that the library carries out, or a call that tables leave to it. It has a communicator of
    /// its own, so that no other candidate receives messages that it left behind when it failed.
    Library(Runner, Communicator),
    /// One of our algorithms, called as programs with a table call it. It makes its own private
    /// communicator.
    Ours(Box<DeployedCall>, &'a Communicator),
}

/// A candidate that is ready to be called again and again.
pub(crate) enum CandidateTurn<'a> {
    Library(Turn<'a>, &'a Communicator),
    Ours(&'a DeployedCall, &'a Communicator),
}

impl<'a> CandidateCall<'a> {
    /// Prepares a candidate, with the communicator's channels if they could be had. Collective over the communicator. An error of the candidate is inside; one of MPI,
    /// which has no communicator to spare, is outside and ends the launch.
    pub(crate) fn new(
        candidate: &Candidate,
        call: &Call,
        communicator: &'a Communicator,
        channels: Result<&Rc<NodeChannels>, NoChannels>,
    ) -> Result<Result<Self, Failure>, DriverError> {
        if let (Through::Shared, Err(reason)) = (candidate.parameters().through, channels) {
            return Ok(Err(Failure {
                kind: FailureKind::Unsupported,
                message: format!("no shared memory: {reason}"),
            }));
        }
        // Tables leave calls of one rank alone and calls without data to the library.
        let is_deployed = communicator.size() > 1 && call.bytes > 0;
        if is_deployed && matches!(candidate, Candidate::Ours { .. }) {
            return match DeployedCall::new(candidate, call, communicator, channels.ok()) {
                Ok(deployed) => Ok(Ok(Self::Ours(Box::new(deployed), communicator))),
                Err(RuntimeError::Exec(error)) if !matches!(error, ExecError::Mpi { .. }) => {
                    Ok(Err(failure(&error)))
                }
                Err(error) => Err(error.into()),
            };
        }
        let own = communicator.duplicate().map_err(RuntimeError::from)?;
        // How the library's own collectives wait is up to the library.
        let runner = Runner::new(candidate, call, &own, Wait::Block);
        Ok(runner
            .map(|runner| Self::Library(runner, own))
            .map_err(|error| failure(&error)))
    }

    /// Makes everything ready for calls one after the other: [`Runner::turn`].
    pub(crate) fn turn(&mut self) -> Result<CandidateTurn<'_>, ExecError> {
        Ok(match self {
            Self::Library(runner, own) => CandidateTurn::Library(runner.turn()?, own),
            Self::Ours(call, communicator) => CandidateTurn::Ours(call, communicator),
        })
    }

    /// Carries out the collective for the first time, in a turn of its own.
    pub(crate) fn first(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), Failure> {
        let mut turn = self.turn().map_err(|error| failure(&error))?;
        let called = turn.call(input, output).and_then(|()| turn.end());
        called.map_err(|error| failure(&error))?;
        let Self::Ours(call, _) = self else {
            return Ok(());
        };
        call.passed_on().map_or(Ok(()), |reason| {
            Err(Failure {
                kind: FailureKind::Unsupported,
                message: format!("the library carried it out: {reason}"),
            })
        })
    }
}

impl CandidateTurn<'_> {
    /// Carries out the collective: [`Turn::call`].
    #[inline]
    pub(crate) fn call(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), ExecError> {
        match self {
            Self::Library(turn, communicator) => turn.call(communicator, input, output),
            Self::Ours(call, communicator) => call.call(communicator, input, output),
        }
    }

    /// Leaves the library to its own decisions again: [`Turn::end`].
    pub(crate) fn end(self) -> Result<(), ExecError> {
        match self {
            Self::Library(turn, _) => turn.end(),
            Self::Ours(..) => Ok(()),
        }
    }
}

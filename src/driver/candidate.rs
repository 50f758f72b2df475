//! Candidates as they are called.

use benchmarking::Failure;
use exec::{Call, Communicator, ExecError, Runner, Turn, Wait};
use runtime::{DeployedCall, RuntimeError};
use vocabulary::Candidate;
use wire::FailureKind;

use crate::error::failure;

/// A candidate bound to a cell's call.
pub(crate) enum CandidateCall<'a> {
    /// What the library carries out, and what tables leave to it, on a communicator of its own, so that what
    /// a failed candidate left under way meets nobody.
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
    /// Prepares a candidate. Collective over the communicator.
    pub(crate) fn new(
        candidate: &Candidate,
        call: &Call,
        communicator: &'a Communicator,
    ) -> Result<Self, Failure> {
        // Tables leave calls of one rank alone and calls without data to the library.
        let is_deployed = communicator.size() > 1 && call.bytes > 0;
        if is_deployed && matches!(candidate, Candidate::Ours { .. }) {
            let deployed = DeployedCall::new(candidate, call, communicator);
            return Ok(Self::Ours(
                Box::new(deployed.map_err(unusable)?),
                communicator,
            ));
        }
        let own = communicator.duplicate().map_err(|error| failure(&error))?;
        // How the library's own collectives wait is up to the library.
        let runner = Runner::new(candidate, call, &own, Wait::Block);
        Ok(Self::Library(runner.map_err(|error| failure(&error))?, own))
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
        match self {
            Self::Ours(call, _) => call.passed_on().map_or(Ok(()), |reason| {
                Err(unsupported(format!("the library carried it out: {reason}")))
            }),
            Self::Library(..) => Ok(()),
        }
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

fn unusable(error: RuntimeError) -> Failure {
    match error {
        RuntimeError::Exec(error) => failure(&error),
        error => unsupported(error.to_string()),
    }
}

fn unsupported(message: String) -> Failure {
    Failure {
        kind: FailureKind::Unsupported,
        message,
    }
}

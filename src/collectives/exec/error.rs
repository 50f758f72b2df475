//! Errors of carrying out a collective.

use channel::Mismatch;
use schedule::{Collective, Unsupported};
use thiserror::Error;
use vocabulary::Candidate;

/// The reason why a collective could not be carried out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum ExecError {
    /// An MPI call returned an error code.
    #[error("{call} failed: {message} (code {code})")]
    Mpi {
        call: &'static str,
        code: i32,
        message: String,
    },
    /// The algorithm cannot serve the call.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// This build has no such algorithm.
    #[error("there is no algorithm `{0}` in this build of colltune")]
    UnknownAlgorithm(String),
    /// The library lists no such algorithm, or forcing it has no effect.
    #[error(
        "the library has no algorithm `{0}` that can be forced here; `colltune-driver --natives` lists those that it has"
    )]
    NoSuchNative(String),
    /// Some parameters would not reach the library's algorithm.
    #[error("{0}: not all of these parameters reach the algorithm")]
    NativeParameters(Box<Candidate>),
    /// Another component of the library takes precedence, so a forced algorithm would not be used.
    #[error(
        "the library's component {0} takes precedence, and its algorithms cannot be forced: exclude it"
    )]
    Shadowed(&'static str),
    /// The launch was not started with the algorithm, which can be forced in no other way.
    #[error("{algorithm} runs only in launches with {variable}={value}")]
    NotForced {
        /// The algorithm.
        algorithm: String,
        /// The environment variable.
        variable: String,
        /// The value that it needs.
        value: String,
    },
    /// The library has chosen another component for the communicator.
    #[error(
        "the library did not use the component of {algorithm} for its communicator, but {used}"
    )]
    NotServing {
        /// The algorithm.
        algorithm: String,
        /// The component that it used.
        used: String,
    },
    /// The file into which the library reports its choice of components cannot be read.
    #[error("the library's report on its components cannot be read: {0}")]
    NoComponentReport(String),
    /// A control variable that should be there is not.
    #[error("the library has no control variable {0}")]
    NoVariable(String),
    /// A call of the tool interface returned an error code.
    #[error("{call} failed for the control variable `{variable}` (code {code})")]
    Tool {
        call: &'static str,
        /// The variable; empty if the error concerns none.
        variable: String,
        /// The return code; -1 if the call was not made.
        code: i32,
    },
    /// Mock-ups do not support `MPI_IN_PLACE`.
    #[error("{0} cannot be called in place")]
    NotInPlace(String),
    /// A message is too long for an MPI count.
    #[error(
        "a message of {bytes} bytes exceeds the {} that one MPI call can move",
        i32::MAX
    )]
    TooLarge { bytes: u64 },
    /// An algorithm that knows nodes would keep too much data on one rank; the same on all ranks.
    #[error(
        "the algorithm keeps {bytes} bytes on one rank, more than {}",
        vocabulary::bounds::MOST_SCRATCH_BYTES
    )]
    Scratch { bytes: u64 },
    /// The operator is not defined for the datatype.
    #[error("{operator} of {datatype} is not defined")]
    NoSuchOperation {
        datatype: &'static str,
        operator: &'static str,
    },
    /// The elements of a datatype are not in ascending order in memory.
    #[error("elements of a datatype with an extent of {extent} bytes cannot be combined here")]
    Extent { extent: isize },
    /// The library's packed data is not simply the bytes in order.
    #[error("packed data of {expected} bytes took {found}")]
    Packing { expected: usize, found: usize },
    /// A rank sends itself more or less than it receives.
    #[error("{collective}: {sent} bytes sent to a rank, but {received} bytes received from one")]
    Lengths {
        collective: Collective,
        /// The size in bytes of the data for, or of, one rank.
        sent: u64,
        received: u64,
    },
    /// The communicator has no channels of shared memory.
    #[error("the communicator has no channels of shared memory")]
    NoChannels,
    /// An earlier call failed, which may have left messages that a later call would receive.
    #[error("the communicator cannot be used any more since an earlier call on it failed")]
    CommunicatorLost,
    /// A sender and a receiver disagree on the length of a message.
    #[error("a message has another length at its sender than at its receiver")]
    MessageLength,
    /// A call of ours was left to the library.
    #[error("the library carried out the call")]
    LeftToLibrary,
    /// Nonblocking calls of the collective are not made here.
    #[error("nonblocking calls of {0} cannot be measured")]
    NotNonblocking(Collective),
    /// A reduction has no operator.
    #[error("a reduction needs an operator")]
    NoOperator,
}

/// Errors are boxed where they would make results so large that moving these takes a noticeable part of a short call: behind a
/// store to memory that another core uses, a processor may wait for that before it reads what it has just written.
impl From<Box<Self>> for ExecError {
    fn from(boxed: Box<Self>) -> Self {
        *boxed
    }
}

impl From<Mismatch> for Box<ExecError> {
    fn from(_: Mismatch) -> Self {
        Self::new(ExecError::MessageLength)
    }
}

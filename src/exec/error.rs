//! What can go wrong when a collective is carried out.

use schedule::{Collective, Unsupported};
use thiserror::Error;
use vocabulary::Candidate;

/// A collective that could not be carried out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExecError {
    /// An MPI call returned an error code.
    #[error("{call} failed: {message} (code {code})")]
    Mpi {
        /// The MPI function.
        call: &'static str,
        /// Its return code.
        code: i32,
        /// The library's text for the code.
        message: String,
    },
    /// The algorithm cannot serve the call.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// There is no such algorithm in this build.
    #[error("there is no algorithm `{0}` in this build of colltune")]
    UnknownAlgorithm(String),
    /// The library lists no such algorithm, or forcing it has no effect.
    #[error(
        "the library has no algorithm `{0}` that can be forced here; `colltune-driver --natives` lists those that it has"
    )]
    NoSuchNative(String),
    /// Parameters that do not reach the library's algorithm.
    #[error("{0}: not all of these parameters reach the algorithm")]
    NativeParameters(Box<Candidate>),
    /// The library's own algorithms would be asked for and not be used.
    #[error("the library's component {0} comes first and cannot be told what to use: exclude it")]
    Shadowed(&'static str),
    /// A control variable that should be there is not.
    #[error("the library has no control variable {0}")]
    NoVariable(String),
    /// A call of the tool interface returned an error code.
    #[error("{call} failed for the control variable `{variable}` (code {code})")]
    Tool {
        /// The function.
        call: &'static str,
        /// The variable; empty where it is about none.
        variable: String,
        /// The return code; -1 if the call was not made.
        code: i32,
    },
    /// Mock-ups have no in-place form.
    #[error("{0} cannot be had in place")]
    NotInPlace(String),
    /// One message would exceed what an MPI count holds.
    #[error(
        "a message of {bytes} bytes exceeds the {} that one MPI call can move",
        i32::MAX
    )]
    TooLarge {
        /// Its size.
        bytes: u64,
    },
    /// The datatype and operator have no meaning together.
    #[error("{operator} of {datatype} is not defined")]
    NoSuchOperation {
        /// The datatype's name.
        datatype: &'static str,
        /// The operator's name.
        operator: &'static str,
    },
    /// The elements of a datatype do not follow one another upwards in memory.
    #[error("elements of a datatype with an extent of {extent} bytes cannot be combined here")]
    Extent {
        /// The datatype's extent.
        extent: isize,
    },
    /// The library packs data in another way than one byte after the other.
    #[error("packed data of {expected} bytes took {found}")]
    Packing {
        /// Bytes of data.
        expected: usize,
        /// Bytes that the library wrote.
        found: usize,
    },
    /// A rank sends itself more or less than it receives.
    #[error("{collective}: {sent} bytes sent to a rank, but {received} bytes received from one")]
    Lengths {
        /// The collective.
        collective: Collective,
        /// Bytes of the data for, or of, one rank.
        sent: u64,
        /// Bytes that are expected of it.
        received: u64,
    },
    /// The communicator has no channels of shared memory.
    #[error("the communicator has no channels of shared memory")]
    NoChannels,
    /// An earlier call failed, which may have left messages in the channels.
    #[error("channels of shared memory cannot be used any more since an earlier call failed")]
    ChannelsLost,
    /// A rank sends more or less than another one receives.
    #[error("a message has another length at its sender than at its receiver")]
    MessageLength,
    /// A reduction was asked for without an operator.
    #[error("a reduction needs an operator")]
    NoOperator,
}

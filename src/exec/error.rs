//! What can go wrong when a collective is carried out.

use schedule::Unsupported;
use thiserror::Error;

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
    /// A reduction was asked for without an operator.
    #[error("a reduction needs an operator")]
    NoOperator,
}

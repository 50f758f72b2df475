//! Kinds of errors.

use serde::Serialize;

/// The kind of an error. Its number is the exit code of the command line.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum ErrorKind {
    /// The answer is "no". Exit code 1.
    No = 1,
    /// Usage or input is bad. Exit code 2.
    Input = 2,
    /// The environment is unfit. Exit code 3.
    Environment = 3,
    /// A bug in colltune. Exit code 4.
    Internal = 4,
    /// The verb was interrupted. Exit code 130.
    Interrupted = 130,
}

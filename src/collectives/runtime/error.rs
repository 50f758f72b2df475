//! Errors of using a table.

use std::ffi::c_int;

use exec::ExecError;
use table::TableError;
use thiserror::Error;

use crate::TableMismatch;

/// The reason why a table cannot be used, or a failed collective.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum RuntimeError {
    /// The table could not be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// Another rank could not read the table, has read a different one, or has different settings or another thread level.
    #[error(
        "not all ranks have read the same table, or they have different settings (variables COLLTUNE_*), or \
         MPI_THREAD_MULTIPLE on some ranks only"
    )]
    Differs,
    /// An environment variable has an invalid value.
    #[error("{name} is `{value}`: it must be {expected}")]
    Variable {
        name: &'static str,
        value: String,
        expected: &'static str,
    },
    /// The table was made for a different system.
    #[error(
        "{0}: set COLLTUNE_FORCE={forcing}, or COLLTUNE_FORCE=1 for all differences, to use it anyway",
        forcing = .0.forcing()
    )]
    TableMismatch(#[from] TableMismatch),
    /// MPI has not been initialised, or has been finalised.
    #[error("MPI is not running")]
    NotRunning,
    /// A slice does not have the expected length.
    #[error("a buffer of {expected} elements was expected, and one of {found} was given")]
    Length { expected: usize, found: usize },
    /// There is no such rank.
    #[error("there is no rank {root} among {ranks}")]
    Root { root: i32, ranks: i32 },
    /// The communicator connects two groups (MPI 4.0, section 7.6).
    #[error("collectives on intercommunicators are not offered here")]
    Intercommunicator,
    /// An MPI call failed while the table was being prepared.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// A collective failed; the communicator's error handler has been called.
    #[error("the collective failed (MPI error code {0})")]
    Collective(c_int),
}

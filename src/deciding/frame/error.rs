//! Errors of writing samples.

use std::io;

use polars::error::PolarsError;
use store::StoreError;
use thiserror::Error;

/// Samples that cannot be written.
#[derive(Debug, Error)]
pub enum FrameError {
    /// A store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
    /// The user asked to stop.
    #[error("interrupted before the output was complete")]
    Interrupted,
    /// A data frame cannot be made or encoded: a bug.
    #[error("cannot make a data frame of the samples: {0}")]
    Frame(#[from] PolarsError),
}

//! The errors of this crate.

use explained::Explained;
use polars::error::PolarsError;
use thiserror::Error;
use vocabulary::{Candidate, ErrorKind, Subject};

/// An error of a summary or an estimation.
#[derive(Debug, Error, Explained)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum FitError {
    /// A repetition lasted a time that is neither 0 nor within [`vocabulary::bounds::TIME`].
    #[error(
        "{subject}, {candidate}, launch {launch}: repetition {repetition} took {seconds} seconds, \
         which is no duration: measure again into a new store"
    )]
    #[kind(Input)]
    NotATime {
        subject: Box<Subject>,
        candidate: Box<Candidate>,
        launch: u32,
        repetition: usize,
        seconds: f64,
    },
    /// More repetitions than can be numbered.
    #[error("{repetitions} repetitions are more than can be summarised at once")]
    #[kind(Internal)]
    TooManyRepetitions { repetitions: usize },
    /// A query over the samples failed; their contents are not the cause.
    #[error("cannot summarise the samples")]
    #[kind(Internal)]
    Query(#[from] PolarsError),
    /// A numerical search failed; the samples are not the cause.
    #[error("cannot estimate the parameters of the machine")]
    #[kind(Internal)]
    Search(#[source] argmin::core::Error),
}

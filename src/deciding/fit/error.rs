//! The errors of this crate.

use polars::error::PolarsError;
use thiserror::Error;
use vocabulary::{Candidate, Subject};

/// An error of a summary or an estimation.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum FitError {
    /// A repetition lasted a time that is neither 0 nor within [`vocabulary::bounds::TIME`].
    #[error(
        "{subject}, {candidate}, launch {launch}: repetition {repetition} took {seconds} seconds, \
         which is no duration: measure again into a new store"
    )]
    NotATime {
        subject: Box<Subject>,
        candidate: Box<Candidate>,
        launch: u32,
        repetition: usize,
        seconds: f64,
    },
    /// More repetitions than can be numbered.
    #[error("{repetitions} repetitions are more than can be summarised at once")]
    TooManyRepetitions { repetitions: usize },
    /// A query over the samples failed; their contents are not the cause.
    #[error("cannot summarise the samples")]
    Query(#[from] PolarsError),
    /// A numerical search failed; the samples are not the cause.
    #[error("cannot estimate the parameters of the machine")]
    Search(#[source] argmin::core::Error),
}

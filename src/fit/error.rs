//! What can be wrong with samples.

use polars::error::PolarsError;
use thiserror::Error;
use vocabulary::{Candidate, Subject};

/// Samples from which nothing can be concluded.
#[derive(Debug, Error)]
pub enum FitError {
    /// A repetition lasted a time that is neither 0 nor within [`vocabulary::bounds::TIME`].
    #[error(
        "{subject}, {candidate}, launch {launch}: repetition {repetition} took {seconds} seconds, \
         which is no duration: measure again into a new store"
    )]
    NotATime {
        /// What was measured.
        subject: Box<Subject>,
        /// With which candidate.
        candidate: Box<Candidate>,
        /// In which launch.
        launch: u32,
        /// Index of the repetition in its sample.
        repetition: usize,
        /// The value.
        seconds: f64,
    },
    /// More repetitions than can be numbered.
    #[error("{repetitions} repetitions are more than can be summarised at once")]
    TooManyRepetitions {
        /// How many there are.
        repetitions: usize,
    },
    /// A query over the samples failed; not caused by what they hold.
    #[error("cannot summarise the samples")]
    Query(#[from] PolarsError),
    /// A numerical search failed; not caused by the samples it fits.
    #[error("cannot estimate the parameters of the machine")]
    Search(#[source] argmin::core::Error),
}

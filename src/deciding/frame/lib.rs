//! The samples of stores as a data frame, written to a file that pandas, R and DuckDB read.
//!
//! A row is one repetition, with everything that the store knows about it: [`COLUMNS`]. [`write_samples`] reads one
//! launch at a time and writes [`BATCH_ROWS`] rows at a time, so neither the store nor the frame needs to fit into
//! memory. The order of rows depends only on the stores: by store, launch, measurement, candidate and repetition.
//!
//! [`compare_newest_level`] aggregates the points of trends, which a service hands over.

mod columns;
mod error;
mod file;
mod rows;
mod trends;

pub use columns::{COLUMNS, SampleColumn};
pub use error::FrameError;
pub use file::FrameFormat;
pub use rows::{BATCH_ROWS, SampleFilter, WrittenSamples, write_samples};
pub use trends::{AggregateError, LevelComparison, SeriesPoint, compare_newest_level};

/// The version of the columns. It grows when a column is removed or gets another meaning, not when one is added.
pub const COLUMNS_VERSION: u32 = 1;

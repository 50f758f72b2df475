//! The words that all stages share, as they are written and read.

mod cell;
mod order;
mod units;

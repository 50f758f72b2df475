//! Reading and writing the types that all stages share.

mod cell;
mod order;
mod shell;
mod units;

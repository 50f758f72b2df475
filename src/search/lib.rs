//! Where to measure next: as little as the decisions need.
//!
//! An exhaustive campaign measures every candidate in every cell in every launch. [`Guide`] asks for
//! what may change a decision:
//!
//! 1. *Pioneers*: in the outermost and the middle communicator shapes, at widely spaced sizes, all
//!    candidates are measured once, at the block size that the pipelining lemma expects; but for those
//!    that the machine's model expects to lose by more than it has been wrong so far.
//! 2. *Bisection*: between two sizes, and between two node counts, the middle one is measured where
//!    the choice changes and using either choice in place of the other costs more than the target
//!    regret, or where the model, or the default's own time, lets another choice be expected in between. There, only
//!    those candidates take part that were not far behind at a neighbour. Between two neighbouring sizes of the
//!    campaign one more is measured where the choice changes, and once a row where the default changes its
//!    algorithm and the choice does not.
//! 3. *Rounds*: what was measured is measured again in further launches, with ever fewer candidates,
//!    until the default and its strongest rival are known from as many launches as the campaign asks
//!    for. In these rounds block sizes are searched: [`blocks`].
//! 4. Where nothing else is worth a measurement, the default is measured once: no model knows where a library
//!    goes from one algorithm to another.
//!
//! The guide keeps no state. Everything it asks for follows from the campaign and what is known, so
//! that an interrupted search goes on where it was. Nothing here measures, and nothing is decided: the
//! decisions are made from the samples alone, as always.

pub mod blocks;
mod cell;
mod grid;
mod guide;
mod known;
mod prune;
mod switching;

pub use guide::{Class, Expectation, Guide, MeasurementRequest};
pub use known::{Known, RelativeTime};

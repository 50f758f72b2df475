//! The strategy `guided`: measures only what may change a decision.
//!
//! An exhaustive campaign measures every candidate in every cell in every launch. [`Guide`] asks for less:
//!
//! 1. *Pioneers*: in the communicator shapes with the fewest and the most nodes (of four node counts or more, also the
//!    middle one), at widely spaced sizes, all candidates are measured once, with the block size that the pipelining
//!    lemma predicts, a quarter of it and four times as much. Candidates that the machine model expects to lose by more
//!    than its errors so far are left out.
//! 2. *Bisection*: between two sizes, and between two node counts, the middle one is measured if the choice changes
//!    and using either choice in place of the other costs more than the target regret, or if the model or the default's
//!    time suggests another choice in between. Only candidates that were close to the best at a neighbour take part.
//!    Between two neighbouring sizes of the campaign another size is measured where the choice changes, and once per
//!    row where the default changes its algorithm and the choice does not.
//! 3. *Rounds*: measured cells are measured again in further launches, with ever fewer candidates, until the default
//!    and its strongest rival have the number of launches that the campaign asks for. Block sizes are searched in these
//!    rounds: [`blocks`].
//! 4. At sizes where nothing else is measured, the default is measured once, since no model predicts at which sizes a
//!    library changes its algorithm.
//!
//! The guide keeps no state: its requests follow from the campaign and the measurements alone, so an interrupted search
//! continues where it ended. This crate neither measures nor decides; decisions are made from the samples alone.

pub mod blocks;
mod budgets;
mod cell;
mod grid;
mod guide;
mod known;
mod prune;
mod switching;
mod turns;

pub use budgets::{
    ExpectedCell, FIRST_LOOK_MINIMUM, SHARE_OF_CELLS, StageTimes, TURNS_PER_ROUND, stage_times,
};
pub use guide::{Class, Expectation, Guide, MeasurementRequest};
pub use known::{KnownMeasurements, RelativeTime};
pub use turns::take_in_turns;

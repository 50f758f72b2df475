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
//! continues where it ended. This module neither measures nor decides; decisions are made from the samples alone.
//!
//! # What it is given, and what it asks for
//!
//! [`Guide`] gets the campaign, the medians of launches, and the model's predictions, and answers what is worth
//! measuring next. Cells with the fewest launches come first, all of them before any other (`search/turns.rs`): their results
//! may change what is asked for next, so an interrupted search makes the same measurements as an undisturbed one.
//!
//! - First looks (`search/grid.rs`) need five repetitions and 10 % of precision. Pioneers are chosen apart for powers of two
//!   nodes and for others, at five sizes. Of phases and numbers of leaders, what the model expects to be the best of
//!   each is combined. Between pioneers, only candidates that were within 30 % at a neighbour take part, with the
//!   neighbour's block scaled by the root of the size.
//! - A candidate is predicted by the parameters of experiments alone, and not at all if its schedule has a step of a
//!   size at which an experiment's time differed from the parameters: such candidates are measured.
//! - In rounds (`search/cell.rs`), the default, the strongest rival and candidates close behind it take part, ever fewer.
//!   Eliminated candidates have less than half of the default's launches, and are never chosen.
//! - Where the default changes its algorithm and the choice does not (`search/switching.rs`), the default may be faster than
//!   what replaces it. So one size a row is measured there, and one of the campaign at which the default alone was
//!   measured and is faster than the choice around it.
//!
//! The report compares the cost of the search with an estimate of what measuring everything would cost.

pub mod blocks;
mod budgets;
mod cell;
mod grid;
mod guide;
mod joint;
mod known;
mod prune;
mod switching;
mod turns;

pub use budgets::{
    ExpectedCell, FIRST_LOOK_MINIMUM, SHARE_OF_CELLS, StageTimes, TURNS_PER_ROUND, stage_times,
};
pub use guide::{Class, Expectation, Guide, MeasurementRequest};
pub(crate) use joint::shares_one_rule;
pub use known::{KnownMeasurements, RelativeTime};
pub use turns::take_in_turns;

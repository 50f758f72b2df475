//! What the rules make of times whose true distribution is known.

mod clocks;
mod coverage;
mod racing;
mod rules;
mod stopping;
mod synthetic;
mod warm_up;

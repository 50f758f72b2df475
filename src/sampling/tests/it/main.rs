//! What sampling makes of times whose true distribution is known.

mod coverage;
mod racing;
mod rules;
mod stopping;
mod synthetic;
mod warm_up;

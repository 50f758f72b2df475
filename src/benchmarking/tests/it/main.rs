//! The loop on scripted times; what its rules make of times whose true distribution is known; clocks.

mod affordable;
mod batch;
mod candidates;
mod clocks;
mod coverage;
mod progress;
mod racing;
mod rules;
mod samples;
mod stopping;
mod synthetic;
mod warm_up;

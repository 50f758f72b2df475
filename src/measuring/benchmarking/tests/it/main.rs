//! The loop on scripted times; its rules on times with a known distribution; clocks.

mod admission;
mod affordable;
mod batch;
mod candidates;
mod clocks;
mod coverage;
mod patterns;
mod progress;
mod racing;
mod ranks;
mod rules;
mod samples;
mod script;
mod session;
mod stopping;
mod synthetic;
mod turns;
mod warm_up;

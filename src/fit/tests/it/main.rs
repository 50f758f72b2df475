//! Tests of the fit on synthetic samples, whose truth is known.

mod decide;
mod machine;
mod patterns;
mod prediction;
mod rules;
mod statistics;
mod summary;
mod synthetic;

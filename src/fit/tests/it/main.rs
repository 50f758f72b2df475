//! Tests of the fit on synthetic samples, whose truth is known.

mod curves;
mod decide;
mod evaluate;
mod machine;
mod patterns;
mod prediction;
mod protocols;
mod rules;
mod statistics;
mod summary;
mod synthetic;

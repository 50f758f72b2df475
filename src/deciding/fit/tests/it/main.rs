//! Tests of the fit on synthetic samples with known parameters.

mod calibrate;
mod curves;
mod decide;
mod evaluate;
mod joint;
mod machine;
mod pairs;
mod patterns;
mod poor_predictions;
mod power;
mod prediction;
mod probes;
mod protocols;
mod repetitions;
mod rules;
mod starts;
mod states;
mod statistics;
mod summary;
mod synthetic;

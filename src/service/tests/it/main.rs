//! Tests of the crate `service`.

mod backup;
mod configuration;
mod database;
mod fixture;
mod tokens;

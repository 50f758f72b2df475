//! Tests of the crate `service`.

mod backup;
mod bed;
mod blobs;
mod configuration;
mod database;
mod fixture;
mod publish;
mod releases;
mod tokens;
mod versions;

//! Tests of the crate `service`.

#![expect(clippy::unwrap_used, reason = "tests panic")]

mod backup;
mod bed;
mod blobs;
mod configuration;
mod database;
mod fixture;
mod gates;
mod modes;
mod nodes;
mod publish;
mod queue;
mod releases;
mod schedules;
mod tokens;
mod usage;
mod versions;
mod webhooks;

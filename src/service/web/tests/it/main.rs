//! Tests of the crate `web`, with real sockets and a service in a temporary folder.

#![expect(clippy::unwrap_used, reason = "tests panic")]

mod agents;
mod dashboard;
mod document;
mod encrypted;
mod ending;
mod events;
mod findings;
mod fixture;
mod levels;
mod limits;
mod malformed;
mod older;
mod pages;
mod pages_bed;
mod pools;
mod proxied;
mod releases;
mod restricted;
mod schedules;
mod statuses;
mod usage;
mod visitors;
mod webhooks;

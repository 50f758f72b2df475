//! Tests of the crate `web`: real sockets before a service in a folder of its own.

#![expect(clippy::unwrap_used, reason = "tests panic")]

mod document;
mod ending;
mod events;
mod fixture;
mod limits;
mod malformed;
mod pages;
mod pages_bed;
mod releases;
mod statuses;
mod visitors;

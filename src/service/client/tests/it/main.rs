//! Tests of the crate `client`, against servers that misbehave.

#![expect(clippy::unwrap_used, reason = "tests panic")]

mod addresses;
mod asking;
mod following;
mod hostile;
mod place;
mod pulling;
mod stages;
mod webhooks;

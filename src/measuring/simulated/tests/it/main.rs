//! Launches from the plan to the records, as with the driver.

#![expect(clippy::unwrap_used, reason = "tests panic")]

mod bench;
mod calls;
mod defaults;
mod launches;
mod nodes;
mod noise;
mod patterns;
mod shared;

/// The code that generates the report on fat nodes.
#[expect(dead_code, reason = "the whole report takes minutes")]
#[path = "../../examples/nodes/study/mod.rs"]
mod study;

#[expect(unreachable_pub, reason = "a part of the library")]
#[path = "../../rules.rs"]
mod rules;

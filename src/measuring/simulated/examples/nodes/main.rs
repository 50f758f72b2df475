//! Algorithms that know nodes on fat nodes, by simulation: writes reports/nodes.md to its standard output.
//!
//! `cargo run --release -p simulated --example nodes > reports/nodes.md`

#[expect(unreachable_pub, reason = "a part of the library")]
#[path = "../../rules.rs"]
mod rules;
mod study;

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", study::report::report()?);
    Ok(())
}

//! A study of fits, decisions and models with a published measurement of 288 ranks: writes `reports/hydra.md` to its
//! standard output.
//!
//! `cargo run --release -p tuner --example hydra > reports/hydra.md`

mod study;

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", study::report()?);
    Ok(())
}

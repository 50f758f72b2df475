//! Published findings about reduces and gathers, compared with simulations. Writes the named report to standard output.
//!
//! `cargo run --release -p model --example findings -- trees > reports/trees.md`

#[expect(
    dead_code,
    reason = "of the other study, only clusters, tables and words"
)]
mod study;

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).unwrap_or_default();
    let mut reports = study::REPORTS.iter();
    let (_, report) = reports
        .find(|(known, _)| *known == name)
        .ok_or("name a report: trees, gather or folding")?;
    print!("{}", report()?);
    Ok(())
}

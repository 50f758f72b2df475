//! Everything in one go.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use store::Store;
use table::Table;

use crate::file::probe;
use crate::{
    Analysis, Event, Measured, Observer, TunerError, Workplace, measure, write_atomically,
};

/// What [`tune`] came to.
#[derive(Debug)]
pub struct Tuned {
    /// What was measured.
    pub measured: Measured,
    /// What follows from it.
    pub analysis: Analysis,
    /// The decisions.
    pub table: Table,
    /// Where the table was written.
    pub table_path: PathBuf,
    /// Where the report was written.
    pub report_path: PathBuf,
}

/// Measures what is missing, fits, decides, and writes the table and the report.
///
/// # Errors
/// As for [`measure()`] and [`Analysis::of`]; files that cannot be written.
pub fn tune(
    at: &Workplace,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<Tuned, TunerError> {
    let output = &at.campaign.output;
    // A table that cannot be written should not cost a night of measuring first.
    for path in [&output.table, &output.report] {
        probe(path)?;
    }
    let measured = measure(at, observer, stop)?;
    let store = Store::open(&output.store)?;
    let analysis = Analysis::of(&store, Some(&at.library), Some(&at.campaign))?;
    let table = analysis.table()?;
    if let Ok(before) = Table::load(&output.table) {
        let (old, new) = (&before.provenance, &table.provenance);
        if old.library != new.library || old.campaign != new.campaign {
            let (path, provenance) = (output.table.as_path(), old);
            observer.notice(Event::Replaces { path, provenance });
        }
    }
    table.save(&output.table)?;
    write_atomically(
        &output.report,
        &report::render_markdown(&analysis.view(&table)),
    )?;
    Ok(Tuned {
        measured,
        analysis,
        table,
        table_path: output.table.clone(),
        report_path: output.report.clone(),
    })
}

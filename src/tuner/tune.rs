//! Everything in one go.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use campaign::Output;
use store::Store;
use table::{Policy, Table, TableError, Withheld};

use crate::launch::absolute;
use crate::{
    CampaignAnalysis, Deciding, Export, Measured, MeasurementContext, Observer, TunerError,
    TuningEvent, export_beside, export_path, keep_apart, measure, probe, text_path, write,
};

/// What [`tune`] came to.
#[derive(Debug)]
pub struct Tuned {
    /// What was measured.
    pub measured: Measured,
    /// What follows from it.
    pub analysis: CampaignAnalysis,
    /// The decisions.
    pub table: Table,
    /// Where the table was written.
    pub table_path: PathBuf,
    /// Where the report was written.
    pub report_path: PathBuf,
    /// Where the same was written as a page with pictures; nowhere beside a report that is a device or the like.
    pub page_path: Option<PathBuf>,
    /// What became of the table for the library's own settings.
    pub export: Export,
    /// The rules that are not deployed.
    pub withheld: Vec<Withheld>,
}

/// Measures what is missing, fits, decides, and writes the table, the reports, and the export for the library.
///
/// # Errors
/// As for [`measure()`] and [`CampaignAnalysis::of`]; files that cannot be written.
pub fn tune(
    at: &MeasurementContext,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<Tuned, TunerError> {
    check_outputs(at)?;
    let measured = measure(at, observer, stop)?;
    conclude(at, measured, observer)
}

/// Checks, before anything is measured, that all outputs can be written, and replace neither inputs nor a table that
/// cannot be read.
///
/// # Errors
/// [`TunerError::File`], [`TunerError::Output`], [`TunerError::SameFile`], [`TunerError::Table`].
pub fn check_outputs(at: &MeasurementContext) -> Result<(), TunerError> {
    let output = &at.campaign.output;
    // Folders of outputs are created below: not for a campaign that cannot be measured here.
    absolute(&output.store)?;
    let (page, export) = (page(output), export_path(&at.library, &output.table));
    let text = export.as_deref().map(text_path);
    let outputs = [
        ("`output.table`", Some(&*output.table)),
        ("`output.report`", Some(&*output.report)),
    ];
    // The campaign's reader keeps all others apart.
    let beside = [
        ("the export beside `output.table`", export.as_deref()),
        ("the text beside that export", text.as_deref()),
    ];
    let page = [("the page beside `output.report`", page.as_deref())];
    let read = at.campaign.inputs().iter();
    let read = read.map(|(name, path)| (&**name, Some(&**path)));
    let store = [("`output.store`", Some(at.store()))];
    let others: Vec<_> = read.chain(store).chain([outputs[1], page[0]]).collect();
    keep_apart(&beside, &others)?;
    let all = [&outputs[..], &beside, &page];
    all.iter()
        .try_for_each(|outputs| keep_apart(outputs, &store))?;
    all.iter().try_for_each(|outputs| probe(outputs))?;
    written_before(&output.table)?;
    Ok(())
}

/// The report as a page with pictures. Beside a device or the like there is none.
fn page(output: &Output) -> Option<PathBuf> {
    (!files::is_special(&output.report)).then(|| output.page())
}

/// The table that is to be replaced, if there is one: its verdicts bind. What is written to in place is not read.
///
/// # Errors
/// [`TableError`], if something else is there.
pub fn written_before(path: &Path) -> Result<Option<Table>, TableError> {
    if files::is_special(path) {
        return Ok(None);
    }
    match Table::load(path) {
        Ok(table) => Ok(Some(table)),
        Err(TableError::Read { source, .. }) if is_absent(source.kind()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a file cannot be there, also because one of its folders is another file.
fn is_absent(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// What follows measuring in [`tune`].
///
/// # Errors
/// As there.
pub fn conclude(
    at: &MeasurementContext,
    measured: Measured,
    observer: &mut dyn Observer,
) -> Result<Tuned, TunerError> {
    let output = &at.campaign.output;
    let page = page(output);
    let store = Store::open(at.store())?;
    let before = written_before(&output.table)?;
    let deciding = Deciding {
        verdicts: before
            .as_ref()
            .map_or_else(Vec::new, |table| table.verdicts.clone()),
        ..Deciding::default()
    };
    let campaign = Some(&at.campaign);
    let mut analysis = CampaignAnalysis::deciding(&store, Some(&at.library), campaign, deciding)?;
    // The name by which all hosts find it.
    analysis.origin.store.clone_from(&output.store);
    let table = analysis.table()?;
    if let Some(before) = before {
        let (old, new) = (&before.provenance, &table.provenance);
        if old.library != new.library || old.campaign != new.campaign {
            let (path, provenance) = (output.table.as_path(), old);
            observer.notice(TuningEvent::Replaces { path, provenance });
        }
    }
    table.save(&output.table)?;
    let view = analysis.view(&table);
    if page.as_ref() != Some(&output.report) {
        write(&output.report, &report::render_markdown(&view))?;
    }
    if let Some(page) = &page {
        write(page, &report::render_html(&view))?;
    }
    let search = std::env::var_os("PATH").unwrap_or_default();
    let policy = Policy::default();
    Ok(Tuned {
        export: export_beside(&table, &output.table, &search, at.driver.as_deref(), policy)?,
        withheld: table.deployed(policy).1,
        measured,
        analysis,
        table,
        table_path: output.table.clone(),
        report_path: output.report.clone(),
        page_path: page,
    })
}

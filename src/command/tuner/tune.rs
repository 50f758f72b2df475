//! The command `tune`: measuring, deciding and writing all outputs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use answers::{Measured, TuningEvent};
use campaign::Output;
use store::Store;
use table::{Policy, Table, TableError, Withheld};
use vocabulary::CampaignProgress;

use crate::history::read_history;
use crate::launch::absolute_utf8_path;
use crate::least_budgets::least_budgets;
use crate::{
    CampaignAnalysis, DecisionOverrides, Export, Gain, MeasurementContext, Observer, TunerError,
    check_outputs_differ, companion_path, export_beside, export_path, measure_campaign,
    predict_traffic_gain, probe_outputs, write_text,
};

/// The result of [`tune_campaign`].
#[derive(Debug)]
pub struct Tuned {
    /// The launches made and the progress.
    pub measured: Measured,
    /// The analysis of all measurements.
    pub analysis: CampaignAnalysis,
    /// The decisions of the campaign; its file may have others as well ([`Table::join_with_replaced`]).
    pub table: Table,
    /// The file of the table.
    pub table_path: PathBuf,
    /// The file of the Markdown report.
    pub report_path: PathBuf,
    /// The file of the HTML report; `None` if the report is a special file, such as a device.
    pub page_path: Option<PathBuf>,
    /// The export for the library's own settings.
    pub export: Export,
    /// The rules that are not deployed.
    pub withheld: Vec<Withheld>,
    /// The time that the table would save the programs whose calls the campaign names; `None` if it names none.
    pub gain: Option<Gain>,
}

/// Makes the missing measurements, fits, decides, and writes the table, the reports, and the export for the library.
///
/// # Errors
/// Those of [`measure_campaign()`] and [`CampaignAnalysis::from_store`]; files that cannot be written.
pub fn tune_campaign(
    at: &MeasurementContext,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<Tuned, TunerError> {
    check_outputs(at)?;
    let measured = measure_campaign(at, observer, stop)?;
    decide_and_write(at, measured, observer)
}

/// Checks, before anything is measured, that all outputs can be written and that they replace neither inputs nor a file
/// that is not a readable table.
///
/// # Errors
/// [`TunerError::File`], [`TunerError::Output`], [`TunerError::SameFile`], [`TunerError::Table`].
pub fn check_outputs(at: &MeasurementContext) -> Result<(), TunerError> {
    let output = &at.campaign.output;
    // Checked before folders are created, in case the campaign cannot be measured here.
    absolute_utf8_path(&output.store)?;
    let (page, export) = (
        report_page_path(output),
        export_path(&at.library, &output.table),
    );
    let text = export.as_deref().map(companion_path);
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
    let read = at.campaign.input_files().iter();
    let read = read.map(|(name, path)| (&**name, Some(&**path)));
    let store = [("`output.store`", Some(at.store_path()))];
    let others: Vec<_> = read.chain(store).chain([outputs[1], page[0]]).collect();
    check_outputs_differ(&beside, &others)?;
    let all = [&outputs[..], &beside, &page];
    all.iter()
        .try_for_each(|group| check_outputs_differ(group, &store))?;
    all.iter().try_for_each(|group| probe_outputs(group))?;
    load_replaced_table(&output.table)?;
    Ok(())
}

/// The file of the HTML report; `None` if the report is a special file.
fn report_page_path(output: &Output) -> Option<PathBuf> {
    (!files::is_special(&output.report)).then(|| output.report_page())
}

/// Reads the table that is to be replaced, whose verdicts bind; `None` if there is none or the path is a special file.
///
/// # Errors
/// [`TableError`] if the file is not a readable table.
pub fn load_replaced_table(path: &Path) -> Result<Option<Table>, TableError> {
    if files::is_special(path) {
        return Ok(None);
    }
    match Table::load(path) {
        Ok(table) => Ok(Some(table)),
        Err(TableError::Read { source, .. }) if is_missing_file(source.kind()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the error means that there is no file, possibly because one of its folders is a file.
fn is_missing_file(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The reason why there is nothing to decide although a campaign was measured: its budget is too small. Returns other
/// errors unchanged.
fn blame_little_budget(
    at: &MeasurementContext,
    store: &Store,
    progress: CampaignProgress,
    error: TunerError,
) -> TunerError {
    let has_nothing = matches!(
        error,
        TunerError::NothingMeasured { .. } | TunerError::NothingToDecide { .. }
    );
    if !has_nothing || progress.done >= progress.total {
        return error;
    }
    let least = read_history(Some(store), &at.library, &at.campaign)
        .and_then(|history| least_budgets(at, &history));
    match least {
        Ok(least) => TunerError::LittleBudget {
            budget_seconds: at.campaign.budget_seconds,
            // Estimates from closed forms may be below a budget that has not sufficed.
            least_seconds: least.once_seconds.max(2.0 * at.campaign.budget_seconds),
        },
        Err(other) => other,
    }
}

/// The part of [`tune_campaign`] that follows measuring.
///
/// # Errors
/// Those of [`CampaignAnalysis::from_store`]; files that cannot be written.
pub fn decide_and_write(
    at: &MeasurementContext,
    measured: Measured,
    observer: &mut dyn Observer,
) -> Result<Tuned, TunerError> {
    let output = &at.campaign.output;
    let page = report_page_path(output);
    let store = Store::open(at.store_path())?;
    let before = load_replaced_table(&output.table)?;
    let deciding = DecisionOverrides {
        verdicts: before
            .as_ref()
            .map_or_else(Vec::new, |table| table.verdicts.clone()),
        ..DecisionOverrides::default()
    };
    let campaign = Some(&at.campaign);
    let progress = measured.progress;
    let analysed = CampaignAnalysis::with_options(&store, Some(&at.library), campaign, deciding);
    let mut analysis =
        analysed.map_err(|error| blame_little_budget(at, &store, progress, error))?;
    // The path under which all hosts find the store.
    analysis.origin.store.clone_from(&output.store);
    let table = analysis.table();
    let table = table.map_err(|error| blame_little_budget(at, &store, progress, error))?;
    if let Some(replaced) = before
        .as_ref()
        .and_then(|before| table.replaced_part(before))
    {
        let (old, new) = (&replaced.provenance, &table.provenance);
        if old.library != new.library || old.campaign != new.campaign {
            observer.notice(&TuningEvent::Replaces {
                path: output.table.display().to_string(),
                library: old.library.to_string(),
            });
        }
    }
    // The file keeps what was decided about calls of the other form, blocking or nonblocking.
    let whole = table.clone().join_with_replaced(before.as_ref());
    whole.save(&output.table)?;
    let view = analysis.report_view(&table);
    if page.as_ref() != Some(&output.report) {
        write_text(&output.report, &report::render_markdown(&view))?;
    }
    if let Some(page) = &page {
        write_text(page, &report::render_html(&view))?;
    }
    let search = std::env::var_os("PATH").unwrap_or_default();
    let policy = Policy::default();
    Ok(Tuned {
        export: export_beside(&whole, &output.table, &search, at.driver.as_deref(), policy)?,
        withheld: table.deployed_by(policy).1,
        gain: predict_traffic_gain(&at.campaign, &table, &analysis),
        measured,
        analysis,
        table,
        table_path: output.table.clone(),
        report_path: output.report.clone(),
        page_path: page,
    })
}

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use report::View;
use schedule::Collective;
use tuner::{EvidenceRemark, ReportedTable, table_view};

use super::campaign::store_file;
use super::in_force::JudgedTable;
use super::stored::{LibraryArg, analyse_store};
use super::{Answer, CliError, Console};
use crate::values;

/// Report on a store or a table: environment, parameters, times, decisions
///
/// Prints the report unless `--output` is given. For a table (a file that ends in .yaml or .yml), the report uses the
/// measurements in the store that the table names, or else only the table's rules and times.
///
/// Choices that are not deployed by default, because they are not confirmed or have low confidence, are hatched in the
/// maps; the tables give the reason. Where the default stays, the maps tell whether nothing is shown to be faster
/// (`–`), another candidate may be faster but was not confirmed in time (`?`), or nothing was compared with it.
///
/// The CSV report has a row for each cell, class of operators and candidate, with times in seconds, sizes in bytes, and
/// empty fields for unknown values. Its columns: `collective`, `operators`, `datatype`, `operator`, `distribution`, `nodes`,
/// `ppn` (ranks per node), `bytes`, `candidate`, `seconds` (median over launches), `seconds_low`,
/// `seconds_high` (its interval), `launches`, `repetitions`, `speedup` (the default's time divided by
/// the candidate's, paired inside launches), `speedup_low`, `speedup_high`, `speedup_coverage` (its
/// interval), `speedup_launches` (the launches with these ratios, fresh ones if choices are confirmed), `chosen_colltune`, `chosen_library` (by the table, of all candidates and of the
/// library's own), `expected_seconds` (by the model), `source`, `verdict`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune report .colltune/quickstart.db --output reports/quickstart.md
  colltune report .colltune/quickstart.db --format html --output reports/quickstart.html
  colltune report tables/quickstart.yaml
  colltune report tables/quickstart.yaml --map allreduce --output allreduce.svg")]
pub(crate) struct ReportArgs {
    /// The store, or a table
    #[arg(value_name = "STORE|TABLE")]
    source: PathBuf,
    #[command(flatten)]
    library: LibraryArg,
    /// The store with the measurements, if it is not where the table says
    #[arg(long, value_name = "STORE")]
    store: Option<PathBuf>,
    /// The format of the report
    #[arg(long, value_enum, default_value_t = ReportFormat::Md)]
    format: ReportFormat,
    /// Instead of the report, draw the decision maps of this collective as a picture (SVG)
    #[arg(long, value_name = "COLLECTIVE", value_parser = values::collective_parser(), conflicts_with = "format")]
    map: Option<Collective>,
    /// Write the report to this file instead of printing it
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ReportFormat {
    /// Markdown
    Md,
    /// One page with figures, which loads nothing
    Html,
    /// All cells with all candidates, for spreadsheets and programs
    Csv,
}

impl ReportArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let outputs = [("`--output`", self.output.as_deref())];
        let source = store_file(&self.source);
        let inputs = [
            ("STORE|TABLE", Some(&*source)),
            ("`--store`", self.store.as_deref()),
        ];
        tuner::check_outputs_differ(&outputs, &inputs)?;
        let view = self.build_view(console)?;
        let text = match (self.map, self.format) {
            (Some(collective), _) => self.draw_maps(&view, collective)?,
            (None, ReportFormat::Md) => report::render_markdown(&view),
            (None, ReportFormat::Html) => report::render_html(&view),
            (None, ReportFormat::Csv) => report::render_csv(&view).map_err(CliError::Output)?,
        };
        console.write_or_print(self.output.as_deref(), &text)?;
        Ok(Answer::Good)
    }

    fn draw_maps(&self, view: &View, collective: Collective) -> Result<String, CliError> {
        report::render_maps(view, collective).ok_or_else(|| CliError::NoMap {
            source_file: self.source.clone(),
            collective,
            known: view
                .cells
                .iter()
                .map(|result| result.cell.collective)
                .collect(),
        })
    }

    fn build_view(&self, console: Console) -> Result<View, CliError> {
        if !is_table(&self.source) {
            let analysis = analyse_store(&self.source, self.library.given_library())?;
            return Ok(analysis.report_view(&analysis.table()?));
        }
        // A table is reported with its evidence, if its store is here and was measured as the table was.
        let table = JudgedTable::read(&self.source, self.store.as_deref(), console)?.table;
        let provenance = &table.provenance;
        let library = self.library.given_library().unwrap_or(&provenance.library);
        let named = self.store.as_deref();
        let store = store_file(named.unwrap_or_else(|| Path::new(&provenance.store)));
        // The store is known only now: it is an input that the output must not replace.
        let outputs = [("`--output`", self.output.as_deref())];
        tuner::check_outputs_differ(&outputs, &[("the store of the table", Some(&store))])?;
        // A store that the table names is often on another machine. One that the user names is expected to be here.
        if !store.exists() && named.is_some() {
            return Err(CliError::StoreMoved {
                table: self.source.clone(),
                store,
            });
        }
        let ReportedTable { view, remark } = table_view(&table, &store, library)?;
        let (shown, in_store) = (self.source.display(), store.display());
        match remark {
            None => {}
            // The report's own warnings say where such a table comes from.
            Some(EvidenceRemark::NoStore) if !provenance.has_launches() => {}
            Some(EvidenceRemark::NoStore) => console.warn(format_args!(
                "the store {in_store} is not here, so the report has only the table's rules and times: name the store \
                 with --store"
            )),
            Some(EvidenceRemark::OtherPattern(found)) => console.warn(format_args!(
                "{shown} was made with `pattern: {}`, but the last measurements in {in_store} have `pattern: {found}`, \
                 so the report has only the table's rules and times",
                provenance.pattern
            )),
            Some(EvidenceRemark::OtherMeasurements) => console.warn(format_args!(
                "{shown} was made from other measurements than those in {in_store}, or with other settings"
            )),
        }
        Ok(view)
    }
}

fn is_table(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str);
    extension.is_some_and(|extension| matches!(extension, "yaml" | "yml"))
}

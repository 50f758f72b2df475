use std::path::{Path, PathBuf};

use clap::ValueEnum;
use import::{ImportOptions, Imported, Skipped};
use schemars::JsonSchema;
use serde::Serialize;
use vocabulary::{Library, Warning};

use crate::console::Console;
use crate::error::CliError;
use crate::exit::Answer;
use crate::values;

/// Bring other people's measurements into a store
///
/// Then `fit`, `decide`, `explain` and `report` work on them as on colltune's own. Nothing is
/// stored if anything in the file is wrong; what is stored stays, and a file is taken once.
/// Candidates are compared within a launch: what is to be compared stands in one file, under the
/// same launch. Of a folder, and the folders in it, all files are taken but those that the store has
/// already: a folder to which each night adds a file is simply imported again.
///
/// `csv` has a header. The columns are `collective`, `library` (`default`; `ours` for colltune's
/// algorithms; `native` for one of the library's own that was forced, by the library's name for it,
/// which needs `--library`; or free text that says where the algorithm is from; without it, all but an algorithm
/// called `default` are from `imported`), `algorithm`, `nodes` (1), `ppn`, `bytes` (of one rank's
/// contribution or part in gather, scatter, allgather and reduce_scatter_block, of a block in
/// alltoall, empty in barrier, else of the vector), `segment_bytes` (a block's, for ours),
/// `datatype` and `operator` of reductions (float32, sum), `launch` (1) and `seconds`;
/// `collective`, `bytes` and `seconds` must be there. A row is a repetition or the mean of several;
/// lines that begin with `#` are comments.
///
/// `osu` is what the collectives of the OSU micro-benchmarks print, with `-f` best: the time is
/// that of the slowest rank then, else the average over ranks, which a warning tells. `imb` is what
/// IMB-MPI1 prints, of ranks that fill one node after the other. Both measure the library's
/// default. Outputs of several runs may follow each other in a file: each is a launch.
///
/// `colltune schema import` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The file with the measurements, or a folder of such files
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The form of the file
    #[arg(long, value_enum)]
    format: Format,
    /// The store; it is created if it is not there
    #[arg(long, value_name = "STORE")]
    store: PathBuf,
    /// The library that was measured, as in openmpi-4.1.4; needed for osu and imb
    #[arg(long, value_name = "NAME-VERSION", value_parser = values::library)]
    library: Option<Library>,
    /// Number of nodes; needed for osu, and for csv without that column
    #[arg(long, short, value_name = "N", value_parser = values::count)]
    nodes: Option<u32>,
    /// Ranks on each node; needed for osu and imb, and for csv without that column
    #[arg(long, short = 'k', value_name = "K", value_parser = values::count)]
    ppn: Option<u32>,
    /// What stands for the default where that was not measured, as in mvapich:ring; decisions are
    /// made against it, and call it `default`
    #[arg(long, value_name = "SOURCE:ALGORITHM")]
    baseline: Option<String>,
    /// How much faster than the default a candidate must be to replace it, as a share
    #[arg(long, value_name = "SHARE", default_value_t = 0.02, value_parser = values::share)]
    materiality: f64,
    /// Where it was measured, for reports
    #[arg(long, value_name = "TEXT")]
    machine: Option<String>,
    /// Print what was imported as JSON
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(JsonSchema, Serialize)]
pub(super) struct Stored<'a> {
    store: &'a Path,
    #[serde(flatten)]
    imported: &'a Imported,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Comma-separated values
    Csv,
    /// OSU micro-benchmarks
    Osu,
    /// Intel MPI Benchmarks
    Imb,
}

/// The most lines of a file that warnings name as left out.
const MOST_SKIPPED: usize = 40;

const EXAMPLES: &str = "\
Examples:
  colltune import times.csv --format csv --store .colltune/hydra.db --library openmpi-4.0.5
  colltune import osu.txt --format osu --store night.db --library mpich-4.2.0 --nodes 4 --ppn 8
  colltune decide .colltune/hydra.db --output tables/hydra.yaml";

impl Args {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let options = ImportOptions {
            format: match self.format {
                Format::Csv => import::ImportFormat::Csv,
                Format::Osu => import::ImportFormat::Osu,
                Format::Imb => import::ImportFormat::Imb,
            },
            library: self.library.clone(),
            nodes: self.nodes,
            ppn: self.ppn,
            machine: self.machine.clone(),
            baseline: self.baseline.clone(),
            materiality: self.materiality,
        };
        let imported = import::import(&self.file, &self.store, &options)?;
        self.warn(&imported, console);
        if self.json {
            console.json(&Stored {
                store: &self.store,
                imported: &imported,
            })?;
        } else {
            console.remark(self.describe(&imported))?;
        }
        Ok(Answer::Good)
    }

    fn warn(&self, imported: &Imported, console: Console) {
        let file = self.file.display();
        for Skipped { file, line, what } in imported.skipped.iter().take(MOST_SKIPPED) {
            console.warn(format_args!("{}:{line}: left out: {what}", file.display()));
        }
        for empty in &imported.empty {
            console.warn(format_args!(
                "{}: left out: nothing in it can be imported",
                empty.display()
            ));
        }
        if let more @ 1.. = imported.skipped.len().saturating_sub(MOST_SKIPPED) {
            console.warn(format_args!(
                "{file}: left out: {more} more; --json lists all"
            ));
        }
        // The warning that times were imported is left out here.
        let told = |warning: &&Warning| !matches!(warning, Warning::Imported { .. });
        for warning in imported.warnings.iter().filter(told) {
            console.warn(format_args!("{warning}."));
        }
        if imported.without_default > 0 {
            console.warn(format_args!(
                "in {} of {} cells the default was not measured: they are in no table",
                imported.without_default, imported.cells
            ));
        }
    }

    fn describe(&self, imported: &Imported) -> String {
        let known = match imported.known.len() {
            0 => String::new(),
            1 => "; 1 file was left out as known already".to_owned(),
            many => format!("; {many} files were left out as known already"),
        };
        format!(
            "{} times of {} candidates in {} cells and {} launches of {} are in {}{known}",
            imported.repetitions,
            imported.candidates,
            imported.cells,
            imported.launches.len(),
            imported.library,
            self.store.display()
        )
    }
}

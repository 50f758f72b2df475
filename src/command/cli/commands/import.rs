use std::path::{Path, PathBuf};

use clap::ValueEnum;
use import::{ImportOptions, Imported, Refused, Skipped};
use schemars::JsonSchema;
use serde::Serialize;
use vocabulary::units::format_counted;
use vocabulary::{CommShape, Library, Warning};

use super::{Answer, CliError, Console};
use crate::values;

/// Import measurements of other programs into a store
///
/// `fit`, `decide`, `explain` and `report` then use them like colltune's own. Imported measurements stay in the store,
/// and a file is imported only once. Candidates are compared within a launch, so their times must be in the same file,
/// under the same launch. From a folder, all files below it are imported that the store does not have yet, so a folder
/// with a new file each night can simply be imported again. A file or a table with an error is left out as a whole,
/// with a warning, and no other one with it; if nothing is left, nothing is stored.
///
/// `csv` has a header. The columns, with defaults in parentheses, are `collective`; `library` (`default` if the
/// algorithm is `default` or missing, else `imported`): `default`, `ours` for colltune's algorithms, `native` for a
/// forced algorithm of the library, by the library's name for it, which needs `--library`, or free text that names the
/// source of the algorithm; `algorithm`; `nodes` (1); `ppn`; `bytes`: of one rank's contribution or part in gather,
/// scatter, allgather and reduce_scatter_block, of a block in alltoall, empty in barrier, else of the vector;
/// `segment_bytes`: the block size for `ours`; `datatype` (float32; int8, int32, int64 or float64) and `operator` (sum)
/// of reductions; `launch` (1); and `seconds`. `collective`, `bytes` and `seconds` are required. A row is a repetition
/// or the mean of several; lines that begin with `#` are comments.
///
/// `osu` is the output of the OSU micro-benchmarks for collectives, preferably with `-f`, which prints the time of the
/// slowest rank; without it, the average over ranks is used, with a warning. `imb` is the output of IMB-MPI1 with ranks
/// that fill one node after the other. Both measure the library's default. A file may contain the outputs of several
/// runs; each run is a launch. Labels before the lines, such as `[1,0]<stdout>:` or `0:`, are recognised by those
/// before titles. What a log says about its launches, in command lines and headings such as `=== np=8 ===`, is
/// believed: tables of other numbers of ranks than --nodes and --ppn give, or of forced algorithms, are left out, and
/// the same file can be imported for another shape. Lines of other programs among the rows are left out and counted.
///
/// `colltune schema import` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune import times.csv --format csv --store .colltune/hydra.db --library openmpi-4.0.5
  colltune import osu.txt --format osu --store night.db --library mpich-4.2.0 --nodes 4 --ppn 8
  colltune decide .colltune/hydra.db --output tables/hydra.yaml")]
pub(crate) struct ImportArgs {
    /// The file with the measurements, or a folder of such files
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The format of the file
    #[arg(long, value_enum)]
    format: MeasurementFormat,
    /// The store, which is created if it does not exist
    #[arg(long, value_name = "STORE")]
    store: PathBuf,
    /// The library that was measured, as in openmpi-4.1.4; needed for osu and imb
    #[arg(long, value_name = "NAME-VERSION", value_parser = values::parse_library)]
    library: Option<Library>,
    /// Number of nodes; needed for osu, and for csv without that column
    #[arg(long, short, value_name = "N", value_parser = values::parse_node_count)]
    nodes: Option<u32>,
    /// Ranks on each node; needed for osu and imb, and for csv without that column
    #[arg(long, short = 'k', value_name = "K", value_parser = values::parse_rank_count)]
    ppn: Option<u32>,
    /// Nodes and ranks on each, as in 4x2, instead of --nodes and --ppn
    #[arg(
        long,
        value_name = "SHAPE",
        value_parser = values::parse_shape,
        conflicts_with_all = ["nodes", "ppn"]
    )]
    shape: Option<CommShape>,
    /// The candidate that takes the place of a default that was not measured, as in mvapich:ring; decisions compare
    /// with it, and call it `default`
    #[arg(long, value_name = "SOURCE:ALGORITHM")]
    baseline: Option<String>,
    /// The smallest gain over the default, as a share, for which a candidate replaces it
    #[arg(long, value_name = "SHARE", default_value_t = 0.02, value_parser = values::parse_share)]
    materiality: f64,
    /// The name of the machine, for reports
    #[arg(long, value_name = "TEXT")]
    machine: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// The output of `--json`.
#[derive(JsonSchema, Serialize)]
pub(super) struct ImportOutput<'a> {
    /// The file of the store.
    store: &'a Path,
    #[serde(flatten)]
    imported: &'a Imported,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum MeasurementFormat {
    /// Comma-separated values
    Csv,
    /// OSU micro-benchmarks
    Osu,
    /// Intel MPI Benchmarks
    Imb,
}

/// The most skipped lines of a file for which warnings are printed.
const MOST_SKIPPED: usize = 40;

impl ImportArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let options = ImportOptions {
            format: match self.format {
                MeasurementFormat::Csv => import::ImportFormat::Csv,
                MeasurementFormat::Osu => import::ImportFormat::Osu,
                MeasurementFormat::Imb => import::ImportFormat::Imb,
            },
            library: self.library.clone(),
            nodes: self.shape.map(|shape| shape.nodes).or(self.nodes),
            ppn: self.shape.map(|shape| shape.ppn).or(self.ppn),
            machine: self.machine.clone(),
            baseline: self.baseline.clone(),
            materiality: self.materiality,
        };
        let imported = import::import_files(&self.file, &self.store, &options)?;
        self.warn_of_left_out(&imported, console);
        if self.json {
            console.print_json(&ImportOutput {
                store: &self.store,
                imported: &imported,
            })?;
        } else {
            console.remark(self.describe_imported(&imported))?;
        }
        Ok(Answer::Good)
    }

    fn warn_of_left_out(&self, imported: &Imported, console: Console) {
        let imported_file = self.file.display();
        for Skipped { file, line, what } in imported.skipped.iter().take(MOST_SKIPPED) {
            console.warn(format_args!("{}:{line}: left out: {what}", file.display()));
        }
        if let more @ 1.. = imported.skipped.len().saturating_sub(MOST_SKIPPED) {
            console.warn(format_args!(
                "{imported_file}: left out: {more} more lines; --json lists all"
            ));
        }
        for Refused { why, help, .. } in &imported.refused {
            let help = help.as_ref().map(|help| format!("; {help}"));
            console.warn(format_args!("left out: {why}{}", help.unwrap_or_default()));
        }
        for empty in &imported.empty {
            console.warn(format_args!(
                "{}: left out: it has nothing to import",
                empty.display()
            ));
        }
        self.warn_of_other_lines(&imported.other_lines, console);
        // The user knows that times are imported.
        let is_news = |warning: &&Warning| !matches!(warning, Warning::Imported { .. });
        for warning in imported.warnings.iter().filter(is_news) {
            console.warn(format_args!("{warning}."));
        }
        if imported.without_default > 0 {
            console.warn(format_args!(
                "the default was not measured in {} of {}, so tables cannot decide them",
                imported.without_default,
                format_counted(imported.cells, "cell")
            ));
        }
    }

    /// Counts the lines of other programs in each file.
    fn warn_of_other_lines(&self, lines: &[Skipped], console: Console) {
        for of_file in lines.chunk_by(|one, next| one.file == next.file) {
            let first = &of_file[0];
            console.warn(format_args!(
                "{}: left out: {} among the rows that are no rows, the first being line {}: {}",
                first.file.display(),
                format_counted(of_file.len(), "line"),
                first.line,
                first.what
            ));
        }
    }

    fn describe_imported(&self, imported: &Imported) -> String {
        let known = match imported.known.len() {
            0 => String::new(),
            known => format!("; already in the store: {}", format_counted(known, "file")),
        };
        format!(
            "{} holds {} of {} in {} and {} of {}{known}",
            self.store.display(),
            format_counted(imported.repetitions, "time"),
            format_counted(imported.candidates, "candidate"),
            format_counted(imported.cells, "cell"),
            format_counted(imported.launches.len(), "launch"),
            imported.library
        )
    }
}

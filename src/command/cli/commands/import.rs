use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use export::{RuleLine, SiteRules};
use import::{ImportFormat, ImportOptions, Imported, Refused, Skipped};
use schemars::JsonSchema;
use serde::Serialize;
use tuner::{ImportedRules, SiteRulesRequest, import_site_rules, known_rules_formats};
use vocabulary::units::format_counted;
use vocabulary::{CommShape, Library, Warning};

use super::{Answer, CliError, Console};
use crate::values;

/// Import measurements of other programs into a store, or a site's rules as a table
///
/// With --store, measurements are added to a store. With --output, a table is made of a file with which a site steers its
/// MPI library.
///
/// `fit`, `decide`, `explain` and `report` use imported measurements like colltune's own. These stay in the store, and a
/// file is imported only once. Candidates are compared within a launch, so their times must be in the same file,
/// under the same launch. From a folder, all files below it are imported that the store does not have yet, so a folder
/// with a new file each night can simply be imported again. A file or a table with an error is left out as a whole,
/// with a warning, and no other one with it; if nothing is left, nothing is stored.
///
/// `csv` has a header. The columns, with defaults in parentheses, are `collective`; `library` (`default` if the
/// algorithm is `default` or missing, else `imported`): `default`, `ours` for colltune's algorithms, `native` for a
/// forced algorithm of the library, by the library's name for it, which needs `--library`, or free text that names the
/// source of the algorithm; `algorithm`; `nodes` (1); `ppn`; `bytes`: of one rank's contribution or part in gather,
/// scatter, allgather and reduce_scatter_block, of a block in alltoall, the mean of the blocks in alltoallv and
/// alltoallw, of all ranks' contributions or parts together in allgatherv, gatherv and scatterv, empty in barrier, else
/// of the vector; `segment_bytes`: the block size for `ours`; `datatype` (float32; int8, int32, int64 or float64) and
/// `operator` (sum) of reductions; `distribution` (uniform; skewed, sparse or dominated) of irregular collectives;
/// `launch` (1); and `seconds`. `collective`, `bytes` and `seconds` are required. A row is a repetition or the mean of
/// several; lines that begin with `#` are comments.
///
/// `osu` is the output of the OSU micro-benchmarks for collectives, preferably with `-f`, which prints the time of the
/// slowest rank; without it, the average over ranks is used, with a warning. `imb` is the output of IMB-MPI1 with ranks
/// that fill one node after the other. Both measure the library's default. A file may contain the outputs of several
/// runs; each run is a launch. Labels before the lines, such as `[1,0]<stdout>:` or `0:`, are recognised by those
/// before titles. What a log says about its launches, in command lines and headings such as `=== np=8 ===`, is
/// believed: tables of other numbers of ranks than --nodes and --ppn give, or of forced algorithms, are left out, and
/// the same file can be imported for another shape. Lines of other programs among the rows are left out and counted.
///
/// `openmpi` and `openmpi-json` are rules files of Open MPI's component tuned, and `mpich` selection files of MPICH's
/// algorithms, recognised by what they look like. The table
/// has what the release that --library names does with the file, as `colltune audit` says: a row that it replaces, hides
/// or misreads is imported as it counts. Lines that no table can express are listed with the reason. The table decides
/// about the shapes of --shapes, by default as many ranks as the rules begin with, on one node each, through the library's
/// own settings (`--deployment library`). Nothing was measured, so no rule is confirmed before `validate --deployment
/// library --confirm`. `diff`, `lookup`, `report` and `export` take the table like any other.
///
/// `colltune schema import` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune import times.csv --format csv --store .colltune/hydra.db --library openmpi-4.0.5
  colltune import osu.txt --format osu --store night.db --library mpich-4.2.0 --nodes 4 --ppn 8
  colltune decide .colltune/hydra.db --output tables/hydra.yaml
  colltune import site/rules.conf --library openmpi-4.1.4 --shapes 1x8,2x8 --output tables/site.yaml
  colltune import site/coll.json --library mpich-4.0.2 --shapes 1x8,2x8 --output tables/vendor.yaml")]
pub(crate) struct ImportArgs {
    /// The file with the measurements or the rules, or a folder of files with measurements
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The format of the file; needed for measurements
    #[arg(long, value_name = "FORMAT", value_parser = format_parser(), required_unless_present = "output")]
    format: Option<ImportedFormat>,
    /// The store for measurements, which is created if it does not exist
    #[arg(long, value_name = "STORE", required_unless_present = "output")]
    store: Option<PathBuf>,
    /// The table to make of a site's rules
    #[arg(long, short, value_name = "TABLE", conflicts_with = "store")]
    output: Option<PathBuf>,
    /// The shapes about which the table decides, as in 1x8,2x8
    #[arg(long, value_name = "SHAPES", value_delimiter = ',', value_parser = values::parse_shape, requires = "output")]
    shapes: Vec<CommShape>,
    /// The library that was measured or reads the rules, as in openmpi-4.1.4; needed for all but csv
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

/// The output of `--json`: of measurements, or of rules.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
pub(super) enum ImportAnswer<'a> {
    /// Measurements were added to a store.
    Measurements(ImportOutput<'a>),
    /// A table was made of a site's rules.
    Rules(RulesOutput<'a>),
}

/// A table of a site's rules.
#[derive(JsonSchema, Serialize)]
pub(super) struct RulesOutput<'a> {
    /// The table's file.
    table: &'a Path,
    /// The library and the release whose treatment of the file counts.
    library: String,
    /// The lines from which the table's rules come.
    rules: &'a [RuleLine],
    /// The lines that are in no rule, or only in part.
    left_out: Vec<LeftOutRule<'a>>,
    /// The number of faults that `audit` finds in the file, apart from those about operators that do not commute.
    faults: usize,
}

/// A line that is in no rule, or only in part.
#[derive(JsonSchema, Serialize)]
pub(super) struct LeftOutRule<'a> {
    /// The line, from 1.
    line: usize,
    /// The reason, as a clause.
    why: &'a str,
}

/// A format of files that can be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ImportedFormat {
    Measurements(ImportFormat),
    /// Rules of a site, by the name of their format.
    Rules(String),
}

/// The formats of measurements by their names.
const MEASUREMENTS: [(&str, ImportFormat); 3] = [
    ("csv", ImportFormat::Csv),
    ("osu", ImportFormat::Osu),
    ("imb", ImportFormat::Imb),
];

/// The parser of the formats' names.
fn format_parser() -> impl TypedValueParser<Value = ImportedFormat> {
    let measurements = MEASUREMENTS.iter().map(|(name, _)| *name);
    let names: Vec<&str> = measurements.chain(known_rules_formats()).collect();
    PossibleValuesParser::new(names).map(|name| {
        let known = MEASUREMENTS.iter().find(|(known, _)| *known == name);
        match known {
            Some((_, format)) => ImportedFormat::Measurements(*format),
            None => ImportedFormat::Rules(name),
        }
    })
}

/// The most skipped lines of a file for which warnings are printed.
const MOST_SKIPPED: usize = 40;

impl ImportArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let (output, store) = (self.output.as_deref(), self.store.as_deref());
        match (&self.format, output, store) {
            (Some(ImportedFormat::Measurements(format)), None, Some(store)) => {
                self.import_measurements(store, *format, console)
            }
            (Some(ImportedFormat::Measurements(_)), _, _) => Err(CliError::ImportOption {
                option: "`--output`",
                kind: "measurements",
                remedy: "name the store with `--store`, and make a table with `colltune decide`",
            }),
            (Some(ImportedFormat::Rules(name)), Some(output), _) => {
                self.import_rules(Some(name), output, console)
            }
            (None, Some(output), _) => self.import_rules(None, output, console),
            (_, None, _) => Err(CliError::ImportOption {
                option: "`--store`",
                kind: "rules",
                remedy: "name the table with `--output`",
            }),
        }
    }

    fn import_rules(
        &self,
        format: Option<&String>,
        output: &Path,
        console: Console,
    ) -> Result<Answer, CliError> {
        let Some(library) = self.library.clone() else {
            return Err(CliError::ImportOption {
                option: "a missing `--library`",
                kind: "rules",
                remedy: "name the release that reads the file, as `NAME-VERSION`",
            });
        };
        let inputs = [("`FILE`", Some(self.file.as_path()))];
        tuner::check_outputs_differ(&[("`--output`", Some(output))], &inputs)?;
        let request = SiteRulesRequest {
            file: self.file.clone(),
            format: format.cloned(),
            library,
            shapes: self.shapes.clone(),
            output: output.to_owned(),
        };
        let ImportedRules { rules, faults } = import_site_rules(&request)?;
        let SiteRules {
            lines, left_out, ..
        } = rules;
        let file = self.file.display();
        if self.json {
            let left_out = left_out.iter().map(|left| LeftOutRule {
                line: left.line,
                why: &left.why,
            });
            console.print_json(&ImportAnswer::Rules(RulesOutput {
                table: output,
                library: request.library.to_string(),
                rules: &lines,
                left_out: left_out.collect(),
                faults,
            }))?;
            return Ok(Answer::Good);
        }
        if faults > 0 {
            console.warn(format_args!(
                "{file} has {}, which `colltune audit --library {} {file}` names; the table has what the release does \
                 with such lines",
                format_counted(faults, "fault"),
                request.library
            ));
        }
        for left in left_out.iter().take(MOST_SKIPPED) {
            console.warn(format_args!("{file}:{}: left out: {}", left.line, left.why));
        }
        if let more @ 1.. = left_out.len().saturating_sub(MOST_SKIPPED) {
            console.warn(format_args!(
                "{file}: left out: {more} more lines; --json lists all"
            ));
        }
        console.remark(format!(
            "{} has {} of {file}, as {} treats it, none of them confirmed",
            output.display(),
            format_counted(lines.len(), "rule"),
            request.library
        ))?;
        Ok(Answer::Good)
    }

    fn import_measurements(
        &self,
        store: &Path,
        format: ImportFormat,
        console: Console,
    ) -> Result<Answer, CliError> {
        let options = ImportOptions {
            format,
            library: self.library.clone(),
            nodes: self.shape.map(|shape| shape.nodes).or(self.nodes),
            ppn: self.shape.map(|shape| shape.ppn).or(self.ppn),
            machine: self.machine.clone(),
            baseline: self.baseline.clone(),
            materiality: self.materiality,
        };
        let imported = import::import_files(&self.file, store, &options)?;
        self.warn_of_left_out(&imported, console);
        if self.json {
            console.print_json(&ImportAnswer::Measurements(ImportOutput {
                store,
                imported: &imported,
            }))?;
        } else {
            console.remark(describe_imported(store, &imported))?;
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
}

fn describe_imported(store: &Path, imported: &Imported) -> String {
    let known = match imported.known.len() {
        0 => String::new(),
        known => format!("; already in the store: {}", format_counted(known, "file")),
    };
    format!(
        "{} holds {} of {} in {} and {} of {}{known}",
        store.display(),
        format_counted(imported.repetitions, "time"),
        format_counted(imported.candidates, "candidate"),
        format_counted(imported.cells, "cell"),
        format_counted(imported.launches.len(), "launch"),
        imported.library
    )
}

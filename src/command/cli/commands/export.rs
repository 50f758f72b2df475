use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use export::{Exported, Format, Options};
use launcher::find_driver;
use table::Table;
use vocabulary::{CommShape, Library};

use super::campaign::search_paths;
use super::in_force::JudgedTable;
use super::lookup::warn_of_simulation;
use super::policy::PolicyArgs;
use super::{Answer, CliError, Console};
use crate::values;

/// Write a table in the format of an MPI library or of a program
///
/// openmpi: a rules file of Open MPI 4.x and 5.0 (component coll/tuned); openmpi-json: a rules file of 6.0;
/// openmpi-han: rules of 4.1 and 5.0 for where the component coll/han is used over several nodes; openmpi-parameters:
/// lines of a parameter file of 4.1 and 5.0 with the priorities and settings of components, for what the table chooses
/// for all sizes; mpich: a complete selection file for one release of MPICH, with that library's own decisions where the
/// table has none; intelmpi: variables that select presets of Intel MPI 2021, for collectives with a preset for each
/// size; c-header: a header in C99 with the table and its lookup. With --output, a text beside JSON files says how to
/// activate them.
///
/// Libraries can choose only among their own algorithms, so the table's decisions for the library's own settings are
/// written, which need its own algorithms (`native:*`) among the candidates. They hold for the library and the series
/// of releases that was measured; files for others are refused. Where the table has no decision, the library decides
/// as before, and a warning says so. The written file is read again, strictly, and compared with the table. It says
/// how to activate it and, if the library's measuring program is built here, which components of the library carry out
/// collectives without reading the file.
///
/// Only rules that fresh launches confirmed are written. Library files have numbers of ranks instead of shapes: the
/// rules for a number of ranks are written if all measured shapes with this number have the same ones. They also apply
/// to other placements of as many ranks, which a warning names: rules measured on 1x2 also to 2x1. They hold for that
/// number only, or, with --extrapolate, up to the next measured number, at the sizes that were measured there.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune export tables/night.yaml --format openmpi --output rules.conf
  colltune export tables/night.yaml --format openmpi --library-version 4.1.6 --assume-commutative
  colltune export tables/mpich.yaml --format mpich --output selection.json")]
pub(crate) struct ExportArgs {
    /// The decision table
    #[arg(value_name = "TABLE")]
    table: PathBuf,
    /// The format
    #[arg(long, value_parser = format_parser())]
    format: String,
    #[command(flatten)]
    options: ExportOptionArgs,
    /// Write a file without rules for a library or a series of releases that was not measured; refused for others
    #[arg(long)]
    stock: bool,
    /// Write to this file instead of printing it
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The arguments that select the rules to write and the library to write for.
#[derive(Debug, clap::Args)]
pub(super) struct ExportOptionArgs {
    /// The release to write for, as in 4.1.4; by default the measured one
    #[arg(long, value_name = "VERSION")]
    library_version: Option<String>,
    /// Also write algorithms that give wrong results for noncommutative operators, if the format does not distinguish
    /// operators; use it only if no program has such operators
    #[arg(long)]
    assume_commutative: bool,
    /// The library file of the MPICH to write for, as in PREFIX/lib/libmpi.so.12, from which its own decisions are
    /// read; by default it is searched for
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// If shapes with the same number of ranks have different rules, write those of this shape, as in 2x4; may be given
    /// once for each number of ranks
    #[arg(long, value_name = "NxK", value_parser = values::parse_shape)]
    assume_shape: Vec<CommShape>,
    #[command(flatten)]
    policy: PolicyArgs,
}

impl ExportOptionArgs {
    /// The options for a table and a format.
    pub(super) fn options_for(&self, table: &Table, format: Option<&dyn Format>) -> Options {
        let version = self.target_library(table).version;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = match &self.library {
            // Searching reads the libraries' files.
            Some(_) => Options::default(),
            None => Options::with_installed(format, &version, &path),
        };
        Options {
            version: self.library_version.clone(),
            assume_commutative: self.assume_commutative,
            library: self.library.clone().or(found.library),
            policy: self.policy.to_policy(),
            assume_shapes: self.assume_shape.clone(),
            ..Options::default()
        }
    }

    /// The library with the release to write for.
    pub(super) fn target_library(&self, table: &Table) -> Library {
        let mut library = table.provenance.library.clone();
        if let Some(version) = &self.library_version {
            library.version.clone_from(version);
        }
        library
    }

    /// The measuring program of the release to write for, if it is built here.
    pub(super) fn target_driver(&self, table: &Table) -> Option<PathBuf> {
        find_driver(
            &self.target_library(table),
            &search_paths().driver_directories(),
        )
        .ok()
    }
}

fn format_parser() -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(export::FORMATS.map(Format::name))
}

impl ExportArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let table = JudgedTable::read_for_others(&self.table, console)?;
        warn_of_simulation(&table, console);
        let Some(format) = export::find_format(&self.format) else {
            // The argument parser accepts no other names.
            return Ok(Answer::No);
        };
        let options = Options {
            stock: self.stock,
            ..self.options.options_for(&table, Some(format))
        };
        let driver = self.options.target_driver(&table);
        let exported = tuner::render_export(format, &table, &options, driver.as_deref())?;
        // With `--stock`, nothing of the table is written that its warnings could concern.
        let of_table = table.provenance.warnings.iter().filter(|_| !self.stock);
        for warning in of_table.chain(&exported.notes) {
            console.warn(warning);
        }
        match &self.output {
            Some(path) => self.write_files(path, &exported, console)?,
            None => console.print(exported.text.trim_end())?,
        }
        Ok(Answer::Good)
    }

    fn write_files(
        &self,
        path: &Path,
        exported: &Exported,
        console: Console,
    ) -> Result<(), CliError> {
        let companion = tuner::written_companion_path(path, exported);
        let outputs = [
            ("`--output`", Some(path)),
            ("the text beside `--output`", companion.as_deref()),
        ];
        let inputs = [
            ("TABLE", Some(&*self.table)),
            ("`--library`", self.options.library.as_deref()),
        ];
        tuner::check_outputs_differ(&outputs, &inputs)?;
        let beside = tuner::write_export(path, exported)?;
        console.remark_written(path)?;
        if let Some(beside) = beside {
            console.remark(format_args!("{} says how to activate it", beside.display()))?;
        }
        Ok(())
    }
}

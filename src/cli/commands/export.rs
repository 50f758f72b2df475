use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use export::{Exported, Format, Options};
use launcher::find_driver;
use table::Table;
use vocabulary::{CommShape, Library};

use super::lookup::warn_of_simulation;
use super::policy::PolicyArgs;
use super::workplace::places;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Answer;
use crate::values;

/// Write a table in the format of an MPI library or of a program
///
/// openmpi: a rules file of Open MPI 4.x and 5.0 (component coll/tuned); openmpi-json: one of 6.0;
/// mpich: a complete selection file for one release of MPICH, which is read from that library where
/// the table has no decision; c-header: a header in C99 with the table and its lookup. With
/// --output, JSON files get a text beside them that says how to activate them.
///
/// Libraries can choose only among their own algorithms, so it is the table's decisions for the
/// library's own settings that are written, with its own algorithms (`native:*`) among the candidates. They hold for
/// the library and the series of releases that was measured; a file for others is refused. Where the table decides
/// nothing, the library goes on deciding for itself, and a warning says so. What was written is read again, strictly, and compared
/// with the table. The file says how to activate it, and, where the library's measuring program is built here,
/// which other part of the library carries out collectives before the file is asked.
///
/// Only rules that fresh launches confirmed are written, for the shapes that were measured. Files of libraries
/// know numbers of ranks and no shapes: the rules for a number of ranks are written if all measured shapes with
/// as many ranks have the same ones. They hold for that number alone; with --extrapolate, up to the next number
/// that was measured.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The decision table
    #[arg(value_name = "TABLE")]
    table: PathBuf,
    /// What to write
    #[arg(long, value_parser = formats())]
    format: String,
    #[command(flatten)]
    options: OptionArgs,
    /// Write for a library or a series of releases that was not measured: the file leaves everything to the library
    #[arg(long)]
    stock: bool,
    /// Write to this file instead of printing it
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The rules of a table that are written, and the library to write for.
#[derive(Debug, clap::Args)]
pub(super) struct OptionArgs {
    /// The release to write for, as in 4.1.4, if it is not the one that was measured
    #[arg(long, value_name = "VERSION")]
    library_version: Option<String>,
    /// Also write algorithms that give wrong results for operators that do not commute, where the
    /// format cannot tell these apart: only if no program uses such operators
    #[arg(long)]
    assume_commutative: bool,
    /// The file of the MPICH to write for, as PREFIX/lib/libmpi.so.12, if it is not found: its own
    /// decisions are read from it
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// Where shapes with as many ranks have different rules and the library cannot tell them apart, write
    /// the rules of this shape, as in 2x4; may be given for several numbers of ranks
    #[arg(long, value_name = "NxK", value_parser = values::shape)]
    assume_shape: Vec<CommShape>,
    #[command(flatten)]
    policy: PolicyArgs,
}

impl OptionArgs {
    /// The options for a table and a format.
    pub(super) fn options(&self, table: &Table, format: Option<&dyn Format>) -> Options {
        let version = self.release(table).version;
        let installed = || format?.installed(&version, &std::env::var_os("PATH")?);
        Options {
            version: self.library_version.clone(),
            assume_commutative: self.assume_commutative,
            library: self.library.clone().or_else(installed),
            policy: self.policy.policy(),
            assume_shapes: self.assume_shape.clone(),
            ..Options::default()
        }
    }

    /// The library with the release to write for.
    pub(super) fn release(&self, table: &Table) -> Library {
        let mut library = table.provenance.library.clone();
        if let Some(version) = &self.library_version {
            library.version.clone_from(version);
        }
        library
    }

    /// The measuring program of the release to write for, if it is built here.
    pub(super) fn driver(&self, table: &Table) -> Option<PathBuf> {
        find_driver(&self.release(table), &places().driver_directories()).ok()
    }
}

const EXAMPLES: &str = "\
Examples:
  colltune export tables/night.yaml --format openmpi --output rules.conf
  colltune export tables/night.yaml --format openmpi --library-version 4.1.6 --assume-commutative
  colltune export tables/mpich.yaml --format mpich --output selection.json";

fn formats() -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(export::FORMATS.map(Format::name))
}

impl Args {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let table = Table::load(&self.table)?;
        warn_of_simulation(&table, console);
        let Some(format) = export::find(&self.format) else {
            // The argument's parser has no other names.
            return Ok(Answer::No);
        };
        let options = Options {
            stock: self.stock,
            ..self.options.options(&table, Some(format))
        };
        let driver = self.options.driver(&table);
        let exported = tuner::render_export(format, &table, &options, driver.as_deref())?;
        for warning in table.provenance.warnings.iter().chain(&exported.notes) {
            console.warn(warning);
        }
        match &self.output {
            Some(path) => self.write(path, &exported, console)?,
            None => console.print(exported.text.trim_end())?,
        }
        Ok(Answer::Good)
    }

    fn write(&self, path: &Path, exported: &Exported, console: Console) -> Result<(), CliError> {
        let beside = tuner::text_beside(path, exported);
        let outputs = [
            ("`--output`", Some(path)),
            ("the text beside `--output`", beside.as_deref()),
        ];
        let inputs = [
            ("TABLE", Some(&*self.table)),
            ("`--library`", self.options.library.as_deref()),
        ];
        tuner::keep_apart(&outputs, &inputs)?;
        let beside = tuner::write_export(path, exported)?;
        console.remark(format_args!("{} is written", path.display()))?;
        if let Some(beside) = beside {
            console.remark(format_args!("{} says how to activate it", beside.display()))?;
        }
        Ok(())
    }
}

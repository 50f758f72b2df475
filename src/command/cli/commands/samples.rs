use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use clap::ValueEnum;
use frame::{FrameError, FrameFormat, SampleFilter, WrittenSamples, write_samples};
use schedule::Collective;
use store::Store;
use tuner::{NamedFile, TunerError};
use vocabulary::units::format_counted;
use vocabulary::{CommShape, Library};

use super::campaign::store_file;
use super::{Answer, CliError, Console};
use crate::{interrupt, values};

/// Write the raw repetitions of stores to a file that pandas, R and DuckDB read
///
/// A row is one repetition, also of experiments on the machine, of launches that confirmed choices, and invalid ones.
/// The columns say what was measured, by which launch, and where; docs/samples.md lists them. Rows are in the order of
/// the stores, launches, measurements, candidates and repetitions. Options select rows: each that is given must fit,
/// and one that is given several times fits if one of its values does. Nothing is computed from the times. The file is
/// written as a whole or not at all. One launch is read at a time, so memory does not grow with the number of launches.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune samples .colltune/night.db --format parquet --output night.parquet
  colltune samples .colltune/*.db --format arrow --collective allreduce --output all.arrow
  colltune samples .colltune/night.db --format csv --shape 4x8 --bytes 64K | gzip > night.csv.gz")]
pub(crate) struct SamplesArgs {
    /// The stores of campaigns or imports
    #[arg(value_name = "STORE", required = true)]
    stores: Vec<PathBuf>,
    /// The format of the file
    #[arg(long, value_enum)]
    format: SamplesFormat,
    /// Write to this file instead of printing
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Only this library, as in openmpi-4.1.4; may be given several times
    #[arg(long, value_name = "NAME-VERSION", value_parser = values::parse_library)]
    library: Vec<Library>,
    /// Only this collective, without experiments; may be given several times
    #[arg(long, short, value_parser = values::collective_parser())]
    collective: Vec<Collective>,
    /// Only this shape, as in 4x2; may be given several times
    #[arg(long, value_name = "SHAPE", value_parser = values::parse_shape)]
    shape: Vec<CommShape>,
    /// Only calls of this size, as in 512, 64K or 8MiB; may be given several times
    #[arg(long, short, value_parser = vocabulary::units::parse_bytes)]
    bytes: Vec<u64>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SamplesFormat {
    /// Apache Parquet
    Parquet,
    /// Comma-separated values with a header
    Csv,
    /// Apache Arrow's IPC file, also called Feather
    Arrow,
}

impl From<SamplesFormat> for FrameFormat {
    fn from(format: SamplesFormat) -> Self {
        match format {
            SamplesFormat::Parquet => Self::Parquet,
            SamplesFormat::Csv => Self::Csv,
            SamplesFormat::Arrow => Self::Arrow,
        }
    }
}

impl SamplesArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        if self.output.is_none()
            && FrameFormat::from(self.format).is_binary()
            && io::stdout().is_terminal()
        {
            return Err(CliError::BinaryToTerminal);
        }
        let paths: Vec<PathBuf> = self.stores.iter().map(|named| store_file(named)).collect();
        self.check_paths(&paths)?;
        // All stores are opened before anything is written, so that no output begins with one and ends at another.
        let stores: Vec<Store> = paths
            .iter()
            .map(|path| Store::open(path))
            .collect::<Result<_, _>>()?;
        let written = match &self.output {
            Some(path) => {
                // After a signal, the file that is to replace the output is removed.
                let stop = interrupt::stop_flag_with_hangup()?;
                let written =
                    files::write_by(path, |output| self.write_selected(&stores, output, &stop));
                let written = written.map_err(|error| write_error(error, path))?;
                console.remark(format_args!(
                    "{} is written: {} of {}",
                    path.display(),
                    format_counted(written.repetitions, "repetition"),
                    format_counted(written.launches, "launch")
                ))?;
                written
            }
            None => {
                let never = AtomicBool::new(false);
                self.write_selected(&stores, &mut io::stdout().lock(), &never)?
            }
        };
        if written.repetitions == 0 {
            console.warn(self.describe_no_rows());
        }
        Ok(Answer::Good)
    }

    /// Refuses an output that would replace a store, and stores that are given twice.
    fn check_paths(&self, paths: &[PathBuf]) -> Result<(), CliError> {
        let inputs: Vec<NamedFile<'_>> =
            paths.iter().map(|path| ("STORE", Some(&**path))).collect();
        tuner::check_outputs_differ(&[("`--output`", self.output.as_deref())], &inputs)?;
        for (place, path) in paths.iter().enumerate() {
            if paths[..place]
                .iter()
                .any(|other| files::is_same(path, other))
            {
                return Err(CliError::StoreTwice { path: path.clone() });
            }
        }
        Ok(())
    }

    fn write_selected(
        &self,
        stores: &[Store],
        output: &mut dyn Write,
        stop: &AtomicBool,
    ) -> Result<WrittenSamples, FrameError> {
        let wanted = SampleFilter {
            libraries: self.library.clone(),
            collectives: self.collective.clone(),
            shapes: self.shape.clone(),
            bytes: self.bytes.clone(),
        };
        write_samples(stores, &wanted, self.format.into(), output, stop)
    }

    fn describe_no_rows(&self) -> &'static str {
        let selects = !(self.library.is_empty()
            && self.collective.is_empty()
            && self.shape.is_empty()
            && self.bytes.is_empty());
        if selects {
            "no repetition fits all options that select rows: the output has columns and no rows"
        } else {
            "nothing was measured yet: the output has columns and no rows"
        }
    }
}

/// The error of a file that is not written.
fn write_error(error: FrameError, path: &Path) -> CliError {
    match error {
        FrameError::Output(source) => TunerError::File {
            action: "write",
            path: path.to_owned(),
            source,
        }
        .into(),
        other => other.into(),
    }
}

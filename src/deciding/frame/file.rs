//! Files of data frames, written batch by batch.

use std::cell::RefCell;
use std::io::{self, Write};

use polars::io::{csv, ipc, parquet};
use polars::prelude::*;

use crate::{COLUMNS, COLUMNS_VERSION, FrameError};

/// A format of files with data frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameFormat {
    /// Apache Parquet, compressed with Zstandard. `colltune.columns` in the metadata is [`COLUMNS_VERSION`].
    Parquet,
    /// Comma-separated values with a header; what is null is empty.
    Csv,
    /// The file format of Apache Arrow's IPC, also called Feather, uncompressed. `colltune.columns` in the footer's
    /// metadata is [`COLUMNS_VERSION`].
    Arrow,
}

impl FrameFormat {
    /// Whether files are binary, and so not fit for a terminal.
    pub const fn is_binary(self) -> bool {
        !matches!(self, Self::Csv)
    }
}

/// The name of the version of the columns in a file's metadata.
const VERSION_KEY: &str = "colltune.columns";

/// A file that is being written.
pub(crate) struct FrameFile<'w> {
    encoder: Encoder<'w>,
    failure: &'w RefCell<Option<io::Error>>,
}

enum Encoder<'w> {
    Parquet(Box<parquet::write::BatchedWriter<Output<'w>>>),
    Csv(Box<csv::write::BatchedWriter<Output<'w>>>),
    Arrow(Box<ipc::BatchedWriter<Output<'w>>>),
}

impl<'w> FrameFile<'w> {
    /// Begins a file. The first error of the output is kept in `failure`, since encoders replace errors by their own.
    pub(crate) fn begin_file(
        format: FrameFormat,
        output: &'w mut dyn Write,
        failure: &'w RefCell<Option<io::Error>>,
    ) -> Result<Self, FrameError> {
        let output = Output { output, failure };
        let fields =
            COLUMNS.map(|column| (PlSmallStr::from_static(column.name), column.data_type()));
        let schema: Schema = fields.into_iter().collect();
        let version = (VERSION_KEY.to_owned(), COLUMNS_VERSION.to_string());
        let encoder = match format {
            FrameFormat::Parquet => {
                let metadata = KeyValueMetadata::from_static(vec![version]);
                let writer = ParquetWriter::new(output).with_key_value_metadata(Some(metadata));
                writer
                    .batched(&schema)
                    .map(|writer| Encoder::Parquet(Box::new(writer)))
            }
            FrameFormat::Csv => {
                let writer = CsvWriter::new(output).batched(&schema);
                writer.map(|writer| Encoder::Csv(Box::new(writer)))
            }
            FrameFormat::Arrow => {
                // Texts in the layout that all readers know, not in that of views.
                let writer = IpcWriter::new(output).with_compat_level(CompatLevel::oldest());
                let no_dictionaries = vec![Default::default(); COLUMNS.len()];
                writer.batched(&schema, no_dictionaries).map(|mut writer| {
                    writer.set_custom_metadata(vec![version]);
                    Encoder::Arrow(Box::new(writer))
                })
            }
        };
        match encoder {
            Ok(encoder) => Ok(Self { encoder, failure }),
            Err(error) => Err(output_error(failure, error)),
        }
    }

    /// Adds rows.
    pub(crate) fn write_frame(&mut self, frame: &DataFrame) -> Result<(), FrameError> {
        let written = match &mut self.encoder {
            Encoder::Parquet(writer) => writer.write_batch(frame),
            Encoder::Csv(writer) => writer.write_batch(frame),
            Encoder::Arrow(writer) => writer.write_batch(frame),
        };
        written.map_err(|error| output_error(self.failure, error))
    }

    /// Ends the file.
    pub(crate) fn finish(self) -> Result<(), FrameError> {
        let finished = match self.encoder {
            Encoder::Parquet(writer) => writer.finish().map(drop),
            Encoder::Csv(mut writer) => writer.finish(),
            Encoder::Arrow(mut writer) => writer.finish(),
        };
        finished.map_err(|error| output_error(self.failure, error))
    }
}

/// The error of the output, if there was one, in place of the encoder's.
fn output_error(failure: &RefCell<Option<io::Error>>, error: PolarsError) -> FrameError {
    match failure.take() {
        Some(failure) => failure.into(),
        None => error.into(),
    }
}

/// An output whose first error is kept.
struct Output<'w> {
    output: &'w mut dyn Write,
    failure: &'w RefCell<Option<io::Error>>,
}

impl Output<'_> {
    fn keep_first_error<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            let kind = error.kind();
            if kind != io::ErrorKind::Interrupted {
                self.failure.borrow_mut().get_or_insert(error);
            }
            kind.into()
        })
    }
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.output.write(bytes);
        self.keep_first_error(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.output.flush();
        self.keep_first_error(flushed)
    }
}

//! The errors of exports.

use std::io;
use std::path::PathBuf;

use explained::Explained;
use thiserror::Error;
use vocabulary::{CommShape, ErrorKind};

/// An error of exporting a table.
#[derive(Debug, Error, Explained)]
#[non_exhaustive]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum ExportError {
    /// A release that the format does not support.
    #[error("the format `{format}` is known for {known}, not for {version}")]
    #[kind(Input)]
    #[help("name a release that it is known for with `--library-version`")]
    UnknownRelease {
        format: &'static str,
        version: String,
        known: &'static str,
    },
    /// A table of another library, without a release to write for.
    #[error(
        "the table is about {measured}, so which release of {library} to write for is not known"
    )]
    #[kind(Input)]
    #[help("name it with `--library-version`")]
    NoRelease {
        library: &'static str,
        measured: String,
    },
    /// A table of another library, or of another series of its releases.
    #[error("the table was measured with {measured} and says nothing about {library}")]
    #[kind(Input)]
    #[help(
        "measure {library} with `colltune tune`; `--stock` writes a file that leaves everything to it"
    )]
    OtherLibrary { library: String, measured: String },
    /// A table of a library that colltune does not know.
    #[error("no file is known that {measured} reads: `{format}` is for {releases}")]
    #[kind(Input)]
    #[help(
        "use the table with `colltune run --library {measured}`, or with `--format c-header`, which every program can \
         include"
    )]
    UnknownLibrary {
        measured: String,
        format: &'static str,
        releases: &'static str,
    },
    /// A file without rules, for a library that has rules.
    #[error("`--stock` does not apply: {0}")]
    #[kind(Input)]
    #[help(
        "leave it out to write the table's rules; it is for a library or a series of its releases that the table was \
         not measured with"
    )]
    NeedlessStock(String),
    /// The library's own decisions are needed and unknown.
    #[error("the decisions of {library} itself are not known: {reason}")]
    #[kind(Input)]
    #[help(
        "name the library's file of that release with `--library`, as in `--library PREFIX/lib/libmpi.so.12`"
    )]
    NoStock { library: String, reason: String },
    /// The library's file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    #[kind(Input)]
    Read { path: PathBuf, source: io::Error },
    /// A text that is no file of the format.
    #[error("line {line}: {message}")]
    #[kind(Input)]
    Invalid {
        /// Line, from 1.
        line: usize,
        message: String,
    },
    /// A shape that cannot be assumed.
    #[error("cannot assume the shape {shape}: {message}")]
    #[kind(Input)]
    #[help("`--assume-shape` takes shapes of the table, one for a number of ranks")]
    Shape { shape: CommShape, message: String },
    /// The written file decides differently from the table; a defect of this crate.
    #[error("refusing to export: {0}")]
    #[kind(Internal)]
    Unfaithful(String),
}

impl ExportError {
    /// A problem in a line of a text, from 1.
    pub(crate) fn invalid(line: usize, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Invalid { line, message }
    }
}

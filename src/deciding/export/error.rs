//! The errors of exports.

use std::io;
use std::path::PathBuf;

use thiserror::Error;
use vocabulary::{CommShape, ErrorKind};

/// An error of exporting a table.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum ExportError {
    /// A release that the format does not support.
    #[error("the format `{format}` is known for {known}, not for {version}")]
    UnknownRelease {
        format: &'static str,
        version: String,
        known: &'static str,
    },
    /// A table of another library, without a release to write for.
    #[error(
        "the table is about {measured}, so which release of {library} to write for is not known"
    )]
    NoRelease {
        library: &'static str,
        measured: String,
    },
    /// A table of another library, or of another series of its releases.
    #[error("the table was measured with {measured} and says nothing about {library}")]
    OtherLibrary { library: String, measured: String },
    /// A file without rules, for a library that has rules.
    #[error("`--stock` does not apply: {0}")]
    NeedlessStock(String),
    /// The library's own decisions are needed and unknown.
    #[error("the decisions of {library} itself are not known: {reason}")]
    NoStock { library: String, reason: String },
    /// The library's file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// A text that is no file of the format.
    #[error("line {line}: {message}")]
    Invalid {
        /// Line, from 1.
        line: usize,
        message: String,
    },
    /// A shape that cannot be assumed.
    #[error("cannot assume the shape {shape}: {message}")]
    Shape { shape: CommShape, message: String },
    /// The written file decides differently from the table; a defect of this crate.
    #[error("refusing to export: {0}")]
    Unfaithful(String),
}

impl ExportError {
    /// A problem in a line of a text, from 1.
    pub(crate) fn invalid(line: usize, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Invalid { line, message }
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Unfaithful(_) => ErrorKind::Internal,
            _ => ErrorKind::Input,
        }
    }

    /// A remedy, as a sentence without a full stop.
    pub fn help(&self) -> Option<String> {
        let text = match self {
            Self::UnknownRelease { .. } => {
                "name a release that it is known for with `--library-version`"
            }
            Self::NoRelease { .. } => "name it with `--library-version`",
            Self::OtherLibrary { library, .. } => {
                return Some(format!(
                    "measure {library} with `colltune tune`; `--stock` writes a file that leaves everything to it"
                ));
            }
            Self::NeedlessStock(_) => {
                "leave it out to write the table's rules; it is for a library or a series of its releases that the \
                 table was not measured with"
            }
            Self::NoStock { .. } => {
                "name the library's file of that release with `--library`, as in `--library \
                 PREFIX/lib/libmpi.so.12`"
            }
            Self::Shape { .. } => {
                "`--assume-shape` takes shapes of the table, one for a number of ranks"
            }
            Self::Read { .. } | Self::Invalid { .. } | Self::Unfaithful(_) => return None,
        };
        Some(text.to_owned())
    }
}

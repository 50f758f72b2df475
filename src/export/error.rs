//! Why nothing was exported.

use std::io;
use std::path::PathBuf;

use thiserror::Error;
use vocabulary::CommShape;

/// A table that could not be exported.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A release that the format is not known for.
    #[error("the format `{format}` is known for {known}, not for {version}")]
    UnknownRelease {
        /// The format.
        format: &'static str,
        /// The release asked for.
        version: String,
        /// What is known.
        known: &'static str,
    },
    /// A table of another library, and no release named.
    #[error(
        "the table is about {measured}, so which release of {library} to write for is not known"
    )]
    NoRelease {
        /// The library of the format.
        library: &'static str,
        /// That of the table, as displayed.
        measured: String,
    },
    /// A table of another library, or of another series of its releases.
    #[error("the table was measured with {measured} and says nothing about {library}")]
    OtherLibrary {
        /// The library to write for.
        library: String,
        /// That of the table, as displayed.
        measured: String,
    },
    /// The library's own decisions are needed and cannot be had.
    #[error("what {library} decides by itself is not known: {reason}")]
    NoStock {
        /// The library with its release.
        library: String,
        /// Why not.
        reason: String,
    },
    /// A file that should tell them and cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A text that is not a file of the format.
    #[error("line {line}: {message}")]
    Invalid {
        /// Line, from 1.
        line: usize,
        /// What is wrong there.
        message: String,
    },
    /// A shape that cannot be assumed.
    #[error("cannot assume the shape {shape}: {message}")]
    Shape {
        /// The shape.
        shape: CommShape,
        /// Why not.
        message: String,
    },
    /// What was written decides otherwise than what should be written. A defect of this crate.
    #[error("refusing to export: {0}")]
    Unfaithful(String),
}

impl ExportError {
    /// What to do about it, as a sentence without a full stop.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::UnknownRelease { .. } => {
                Some("name a release that it is known for with `--library-version`".to_owned())
            }
            Self::NoRelease { .. } => {
                Some("name it with `--library-version`, as in 4.1.4".to_owned())
            }
            Self::OtherLibrary { library, .. } => Some(format!(
                "measure {library} with `colltune tune`; `--stock` writes a file that leaves everything to it"
            )),
            Self::NoStock { .. } => Some(
                "name the library's file of that release with `--library`, as in `--library \
                 PREFIX/lib/libmpi.so.12`"
                    .to_owned(),
            ),
            Self::Shape { .. } => Some(
                "`--assume-shape` takes shapes of the table, one for a number of ranks".to_owned(),
            ),
            Self::Read { .. } | Self::Invalid { .. } | Self::Unfaithful(_) => None,
        }
    }
}

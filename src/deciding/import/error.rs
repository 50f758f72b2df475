//! Errors of imports.

use std::io;
use std::path::{Path, PathBuf};

use explained::Explained;
use files::{MOST_QUOTED, quoted};
use store::StoreError;
use thiserror::Error;
use vocabulary::{ErrorKind, Library};

use crate::problem::LineProblem;
use crate::{ImportFormat, Skipped};

/// A file that cannot be imported.
#[derive(Debug, Error, Explained)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum ImportError {
    /// The folder cannot be read.
    #[error("cannot read the folder {}: {source}", path.display())]
    #[kind(Input)]
    Folder { path: PathBuf, source: io::Error },
    /// The file cannot be read as text.
    #[error("cannot read {}: {source}", path.display())]
    #[kind(Input)]
    Read { path: PathBuf, source: io::Error },
    /// A line is wrong.
    #[error(
        "{}:{line}:{} {}",
        path.display(),
        field.map(|f| format!(" {f}:")).unwrap_or_default(),
        quoted(&problem.to_string(), 2 * MOST_QUOTED)
    )]
    #[kind(Input)]
    #[help(transparent(problem))]
    Line {
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The column, if columns have names.
        field: Option<&'static str>,
        problem: LineProblem,
    },
    /// No table of the file can be imported; the problem is that of the first.
    #[error(
        "{}:{line}: {}{}",
        path.display(),
        quoted(&problem.to_string(), 2 * MOST_QUOTED),
        other_reasons_clause(*others)
    )]
    #[kind(Input)]
    #[help(transparent(problem))]
    Tables {
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        problem: LineProblem,
        /// How many other reasons there are.
        others: usize,
    },
    /// No file of a folder can be imported; the problem is that of the first.
    #[error("none of the files in {} can be imported: {first}", path.display())]
    #[kind(Input)]
    #[help(transparent(first))]
    Files {
        path: PathBuf,
        first: Box<ImportError>,
    },
    /// Information is missing from the file.
    #[error("{} does not say {option}", path.display())]
    #[kind(Input)]
    #[help(if *option == OptionNeeded::Ppn && *format == ImportFormat::Csv, "add the column `ppn`, or give `--ppn K`")]
    #[help(transparent(option))]
    Needs {
        path: PathBuf,
        format: ImportFormat,
        option: OptionNeeded,
    },
    /// Nothing in the file can be imported.
    #[error(
        "{} has no {} of a collective that is compared{}",
        path.display(),
        format.content_name(),
        skipped.first().map(|first| format!("; line {}: {}", first.line, first.what)).unwrap_or_default()
    )]
    #[kind(Input)]
    #[help(if skipped.is_empty(), "check the file name and `--format`")]
    Empty {
        path: PathBuf,
        format: ImportFormat,
        /// What is left out, with the reasons.
        skipped: Vec<Skipped>,
    },
    /// The file has no times of the default.
    #[error(
        "{} has no times of the library's default, so nothing can be decided from it",
        path.display()
    )]
    #[kind(Input)]
    #[help(
        "name the candidate to compare with by `--baseline`, one of {}; or add rows of the default to the file, with \
         `default` in the column `library`",
        known.join(", ")
    )]
    NoDefault { path: PathBuf, known: Vec<String> },
    /// No candidate has the baseline's name.
    #[error("{} has no times of the baseline `{name}`", path.display())]
    #[kind(Input)]
    #[help(if known.is_empty(), "leave `--baseline` out")]
    #[help("name one of {}", known.join(", "))]
    NoBaseline {
        path: PathBuf,
        name: String,
        known: Vec<String>,
    },
    /// The store holds measurements by colltune.
    #[error(
        "{} holds colltune's own measurements of {library} for `{campaign}`, with which imported times are not mixed",
        store.display()
    )]
    #[kind(Input)]
    #[help("import into another store")]
    Measured {
        store: PathBuf,
        library: Library,
        campaign: String,
    },
    /// The store has a file with tables of several shapes, stored as tables of one.
    #[error(
        "{} has the tables of {} already, and takes all of them as tables of one shape, though the file says that they \
         are of several",
        store.display(),
        path.display()
    )]
    #[kind(Input)]
    #[help("import this file and all others into a new store, and use that one")]
    OneShape { store: PathBuf, path: PathBuf },
    /// The store cannot be used.
    #[error(transparent)]
    #[kind(transparent)]
    Store(Box<StoreError>),
}

/// Says that there are other reasons than the first.
fn other_reasons_clause(others: usize) -> String {
    match others {
        0 => String::new(),
        _ => format!(" (the first of {} reasons)", others + 1),
    }
}

/// Information that a file may lack and an option gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Explained)]
#[help(always)]
pub enum OptionNeeded {
    /// The library that was measured.
    #[error("which library was measured")]
    #[help("name it, as in `--library openmpi-4.1.4`")]
    Library,
    /// Number of nodes.
    #[error("on how many nodes it was measured")]
    #[help("give `--nodes N`")]
    Nodes,
    /// Ranks per node.
    #[error("how many ranks there were on each node")]
    #[help("give `--ppn K`")]
    Ppn,
}

impl ImportFormat {
    fn content_name(self) -> &'static str {
        match self {
            Self::Csv => "row",
            Self::Osu => "output of an OSU latency test",
            Self::Imb => "table of the Intel MPI Benchmarks",
        }
    }
}

impl ImportError {
    pub(crate) fn at_line(path: &Path, line: u64, problem: LineProblem) -> Self {
        Self::Line {
            path: path.to_owned(),
            line,
            field: None,
            problem,
        }
    }

    pub(crate) fn needs_option(path: &Path, format: ImportFormat, option: OptionNeeded) -> Self {
        Self::Needs {
            path: path.to_owned(),
            format,
            option,
        }
    }
}

impl From<StoreError> for ImportError {
    fn from(error: StoreError) -> Self {
        Self::Store(Box::new(error))
    }
}

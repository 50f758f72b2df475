//! Errors of this crate.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::problem::{Fault, Problem};

/// Why a table could not be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TableError {
    /// The file cannot be opened or is not text.
    #[error("cannot read the table {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The file was read and is not a valid table.
    #[error(transparent)]
    Invalid(Box<Invalid>),
    /// Nothing can be created in the directory that should hold the file.
    #[error(
        "cannot write the table {}: no file can be created in {}: {source}",
        path.display(),
        directory.display()
    )]
    Directory {
        /// The file.
        path: PathBuf,
        /// Its directory.
        directory: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Writing failed. The file is the old one, if any, or the whole new one if only making its
    /// name outlast a power failure did not succeed; never a part of one.
    #[error("cannot write the table {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The table in memory breaks the rules of tables; nothing was written.
    #[error("refusing to write an invalid table: {0}")]
    Unsound(Box<Invalid>),
    /// The text of the table would be read back as something else; nothing was written.
    #[error("refusing to write the table {}: it would not be read back equal", path.display())]
    Altered {
        /// The file.
        path: PathBuf,
    },
}

/// A table's text that cannot be accepted, displayed as a compiler would: the problem, its place,
/// the line, the remedy.
#[derive(Clone, Debug, PartialEq)]
pub struct Invalid {
    /// What is wrong.
    pub problem: Problem,
    /// The file.
    pub path: PathBuf,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Characters that the problem covers, at least 1.
    pub length: usize,
    /// Path of the field, as in `collectives.bcast.shapes[0].rules[2].from`; empty at the top.
    pub field: String,
    /// The text of the line.
    pub source_line: String,
}

impl Invalid {
    /// Places a fault in its file.
    pub(crate) fn new(fault: Fault, text: &str, path: &Path) -> Self {
        let Fault {
            problem,
            extent,
            field,
        } = fault;
        // A parser that misses something at the end points behind the last line.
        let line = extent.line.clamp(1, text.lines().count().max(1));
        let source_line = text
            .lines()
            .nth(line - 1)
            .unwrap_or_default()
            .trim_end()
            .to_owned();
        let column = if line == extent.line {
            extent.column
        } else {
            source_line.len() + 1
        };
        let (path, length) = (path.to_owned(), extent.length);
        Self {
            problem,
            path,
            line,
            column,
            length,
            field,
            source_line,
        }
    }
}

impl std::error::Error for Invalid {}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            problem,
            path,
            line,
            column,
            length,
            field,
            source_line,
        } = self;
        let number = line.to_string();
        let margin = " ".repeat(number.len());
        writeln!(f, "{problem}")?;
        write!(f, "{margin}--> {}:{line}:{column}", path.display())?;
        if !field.is_empty() {
            write!(f, " ({field})")?;
        }
        writeln!(f, "\n{margin} |\n{number} | {source_line}")?;
        let indent: String = source_line
            .chars()
            .chain(std::iter::repeat(' '))
            .take(column.saturating_sub(1))
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        writeln!(f, "{margin} | {indent}{}", "^".repeat(*length))?;
        write!(f, "{margin} = help: {}", problem.help())
    }
}

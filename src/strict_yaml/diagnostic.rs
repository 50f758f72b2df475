//! A problem with its place, shown as a compiler shows it.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::Field;
use crate::tree::Extent;

/// Something that is wrong with a file: what it displays as, and what to do about it.
pub trait Problem: fmt::Display {
    /// What the user can do about it: one sentence without a full stop.
    fn help(&self) -> String;
}

/// A [`Problem`] and its place.
///
/// Displays as a compiler would show it: the problem, the place, the line and the remedy; without
/// colours, for it also goes to logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file.
    pub path: PathBuf,
    /// Its line, from 1; one of the file's unless that is empty.
    pub line: usize,
    /// Its column in characters, from 1.
    pub column: usize,
    /// Characters that the problem covers, at least 1.
    pub length: usize,
    /// The field; empty for the whole file.
    pub field: Field,
    /// The text of the line.
    pub source_line: String,
    /// What is wrong there.
    pub message: String,
    /// What the user can do about it: one sentence without a full stop.
    pub help: String,
}

impl Diagnostic {
    /// A problem with a whole line of a text that is not YAML.
    pub fn of_line(path: &Path, text: &str, line: usize, problem: impl Problem) -> Box<Self> {
        let extent = Extent {
            line,
            ..Extent::START
        };
        Self::new(path, text, extent, Field::default(), &problem)
    }

    pub(crate) fn new(
        path: &Path,
        text: &str,
        extent: Extent,
        field: Field,
        problem: &impl Problem,
    ) -> Box<Self> {
        // A parser that misses something at the end points behind the last line.
        let line = extent.line.clamp(1, text.lines().count().max(1));
        let source_line = text.lines().nth(line - 1).unwrap_or_default().trim_end();
        let column = match line == extent.line {
            true => extent.column,
            false => source_line.chars().count() + 1,
        };
        Box::new(Self {
            path: path.to_owned(),
            line,
            column,
            length: extent.length,
            field,
            source_line: source_line.to_owned(),
            message: problem.to_string(),
            help: problem.help(),
        })
    }
}

impl std::error::Error for Diagnostic {}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        let (path, field) = (self.path.display(), self.field.to_string());
        writeln!(f, "{}", self.message)?;
        write!(f, "{margin}--> {path}:{number}:{}", self.column)?;
        match field.is_empty() {
            true => writeln!(f)?,
            false => writeln!(f, " ({field})")?,
        }
        if !self.source_line.is_empty() {
            let before = self.source_line.chars().chain(std::iter::repeat(' '));
            let before = before.take(self.column.saturating_sub(1));
            let indent: String = before.map(|c| if c == '\t' { c } else { ' ' }).collect();
            let carets = "^".repeat(self.length);
            writeln!(f, "{margin} |\n{number} | {}", self.source_line)?;
            writeln!(f, "{margin} | {indent}{carets}")?;
        }
        write!(f, "{margin} = help: {}", self.help)
    }
}

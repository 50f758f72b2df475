//! Problems with their places, displayed like compiler errors.

use std::fmt;
use std::path::{Path, PathBuf};

use files::{MOST_QUOTED, Plain, quoted};

use crate::Field;
use crate::tree::Extent;

/// The most characters of a problem, which may quote a value.
const MOST_OF_PROBLEM: usize = 400;

/// The most characters of a remedy, which may list known names.
const MOST_OF_HELP: usize = 800;

/// A problem with a file: a message, and a remedy.
pub trait Problem: fmt::Display {
    /// The remedy: one sentence without a full stop.
    fn help(&self) -> String;
}

/// A [`Problem`] and its place.
///
/// Displays like a compiler error: the problem, the place, the line and the remedy; without colours, since it also goes
/// to logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file.
    pub path: PathBuf,
    /// Its line, from 1; a line of the file unless the file is empty.
    pub line: usize,
    /// Its column in characters, from 1.
    pub column: usize,
    /// Characters that the problem covers, at least 1.
    pub length: usize,
    /// The field; empty for the whole file.
    pub field: Field,
    /// The text of the line, or the part of a long line around the column; unprintable characters are escaped.
    pub source_line: String,
    /// The extent of the problem there: characters before it, and its own.
    shown: (usize, usize),
    /// The problem.
    pub message: String,
    /// The remedy: one sentence without a full stop.
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
        // A parser that misses something at the end points after the last line.
        let line = extent.line.clamp(1, text.lines().count().max(1));
        let source_line = text.lines().nth(line - 1).unwrap_or_default().trim_end();
        let column = if line == extent.line {
            extent.column
        } else {
            source_line.chars().count() + 1
        };
        let (source_line, shown) = excerpt_around(source_line, column, extent.length);
        Box::new(Self {
            path: path.to_owned(),
            line,
            column,
            length: extent.length,
            field,
            source_line,
            shown,
            message: quoted(&problem.to_string(), MOST_OF_PROBLEM),
            help: quoted(&problem.help(), MOST_OF_HELP),
        })
    }
}

/// The displayed part of a line, around a column if the line is long; and the numbers of its characters before the
/// column and of the `length` from there.
fn excerpt_around(line: &str, column: usize, length: usize) -> (String, (usize, usize)) {
    let before = column.saturating_sub(1);
    let is_long = line.chars().nth(MOST_QUOTED).is_some();
    let (left_out, most) = if is_long {
        (before.saturating_sub(MOST_QUOTED / 2), MOST_QUOTED / 2)
    } else {
        (0, MOST_QUOTED)
    };
    let mut rest = line.chars().skip(left_out);
    // A position after the end of the line is one space wide.
    let mut piece = |count: usize| -> (String, usize) {
        let text: String = rest.by_ref().take(count).collect();
        let missing = count - text.chars().count();
        let text = Plain(text).to_string();
        let width = text.chars().count() + missing;
        (text, width)
    };
    let (start, start_width) = piece(before - left_out);
    let (middle, middle_width) = piece(length.min(most));
    let (end, _) = piece(most);
    let dots = |is_cut| if is_cut { "..." } else { "" };
    let (first, last) = (dots(left_out > 0), dots(rest.next().is_some()));
    let shown = (first.len() + start_width, middle_width);
    (format!("{first}{start}{middle}{end}{last}"), shown)
}

impl std::error::Error for Diagnostic {}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        let path = self.path.display();
        let field = quoted(&self.field.to_string(), MOST_QUOTED);
        writeln!(f, "{}", self.message)?;
        write!(f, "{margin}--> {path}:{number}:{}", self.column)?;
        if field.is_empty() {
            writeln!(f)?
        } else {
            writeln!(f, " ({field})")?
        }
        if !self.source_line.is_empty() {
            let (before, covered) = self.shown;
            let line = self.source_line.chars().chain(std::iter::repeat(' '));
            let indent = line.take(before);
            let indent: String = indent.map(|c| if c == '\t' { c } else { ' ' }).collect();
            let carets = "^".repeat(covered);
            writeln!(f, "{margin} |\n{number} | {}", self.source_line)?;
            writeln!(f, "{margin} | {indent}{carets}")?;
        }
        write!(f, "{margin} = help: {}", self.help)
    }
}

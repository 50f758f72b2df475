//! What is wrong with a campaign file, and where.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::{Field, Problem};

/// A campaign that cannot be used.
#[derive(Debug, Error)]
pub enum CampaignError {
    /// The file cannot be read.
    #[error("cannot read the campaign `{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file says something that makes no sense; it renders with its place and a remedy.
    #[error("{0}")]
    Invalid(Box<Diagnostic>),
}

impl CampaignError {
    /// What the user can do about it, where the message does not say so already.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Some("`colltune init` writes a campaign for this machine".to_owned())
            }
            Self::Read { .. } | Self::Invalid(_) => None,
        }
    }
}

/// A [`Problem`] and its place.
///
/// Displays as a compiler would show it: the problem, the place, the line and the remedy.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// The file.
    pub path: PathBuf,
    /// Its line, from 1.
    pub line: usize,
    /// Its column in characters, from 1.
    pub column: usize,
    /// The field; empty for the whole file.
    pub field: Field,
    /// The text of the line.
    pub source_line: String,
    /// What is wrong there.
    pub problem: Problem,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            line,
            column,
            field,
            source_line,
            problem,
        } = self;
        let number = line.to_string();
        let margin = " ".repeat(number.len());
        let field = field.to_string();
        writeln!(f, "{problem}")?;
        write!(f, "{margin}--> {}:{line}:{column}", path.display())?;
        if !field.is_empty() {
            write!(f, " ({field})")?;
        }
        if !source_line.trim().is_empty() {
            let caret = " ".repeat(column.saturating_sub(1));
            writeln!(f, "\n{margin} |\n{number} | {}", source_line.trim_end())?;
            write!(f, "{margin} | {caret}^")?;
        }
        write!(f, "\nhelp: {}", problem.help())
    }
}

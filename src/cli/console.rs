//! Where commands print to.
//!
//! Results go to standard output, everything about them to standard error. Nothing here panics
//! when a reader goes away, as in `colltune ... | head`.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use files::{Plain, shortened};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::error::CliError;

/// Standard output and standard error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Console {
    quiet: bool,
}

impl Console {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// Whether only results, warnings and errors are wanted.
    pub(crate) fn is_quiet(self) -> bool {
        self.quiet
    }

    /// Whether a progress bar would be seen, and is wanted.
    pub(crate) fn shows_progress(self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    /// A bar that is seen on a terminal, if one is wanted.
    pub(crate) fn progress_bar(self, length: u64, template: &str) -> ProgressBar {
        if !self.shows_progress() {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::new(length);
        // Templates are fixed; a bar of the default style would do as well.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar
    }

    /// Prints a result and a line end. Control characters are escaped, since results may quote files.
    pub(crate) fn print(self, text: impl Display) -> Result<(), CliError> {
        let mut out = io::stdout().lock();
        writeln!(out, "{}", Plain(text))
            .and_then(|()| out.flush())
            .map_err(CliError::Output)
    }

    /// Prints a remark, unless the console is quiet.
    pub(crate) fn remark(self, text: impl Display) -> Result<(), CliError> {
        if self.quiet { Ok(()) } else { self.print(text) }
    }

    /// Prints a result for programs.
    pub(crate) fn json(self, value: &impl Serialize) -> Result<(), CliError> {
        self.print(json(value)?)
    }

    /// Prints a warning to standard error.
    pub(crate) fn warn(self, text: impl Display) {
        print_diagnostic("warning", text);
    }
}

/// A result for programs.
pub(crate) fn json(value: &impl Serialize) -> Result<String, CliError> {
    // Keys in the order of the alphabet, whatever that of fields is.
    let value = serde_json::to_value(value).map_err(CliError::Json)?;
    Ok(format!("{value:#}"))
}

/// The most characters of a warning, an error or a remedy: long quotations have been shortened before.
const MOST: usize = 1600;

/// Prints an error for programs to standard error, on one line.
pub(crate) fn print_json_error(error: &impl Serialize) {
    // Strings can always be written as JSON.
    if let Ok(line) = serde_json::to_string(error) {
        let _ = writeln!(io::stderr(), "{line}");
    }
}

/// Prints a line about what is going on to standard error.
pub(crate) fn print_diagnostic(kind: &str, text: impl Display) {
    let text = Plain(text).to_string();
    // Without standard error there is no place for the message.
    let _ = writeln!(io::stderr(), "{kind}: {}", shortened(&text, MOST));
}

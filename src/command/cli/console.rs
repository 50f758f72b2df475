//! Output of commands.
//!
//! Results go to standard output, diagnostics to standard error. Nothing here panics when the reader closes its end, as
//! in `colltune ... | head`.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use printable::{Plain, shortened};
use serde::Serialize;

use crate::error::CliError;
use crate::exit::Answer;

/// Standard output and standard error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Console {
    quiet: bool,
}

impl Console {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// Whether only results, warnings and errors are printed.
    pub(crate) fn is_quiet(self) -> bool {
        self.quiet
    }

    /// Whether a progress bar is shown.
    pub(crate) fn shows_progress(self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    /// A progress bar; hidden if none is shown.
    pub(crate) fn progress_bar(self, length: u64, template: &str) -> ProgressBar {
        if !self.shows_progress() {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::new(length);
        // Templates are constants; without one the bar has the default style.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar
    }

    /// Prints a result and a line end, with unprintable characters escaped, since results may quote files.
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

    /// Writes a result to a file and says so, or prints it without one; with unprintable characters escaped in both.
    pub(crate) fn write_or_print(self, file: Option<&Path>, text: &str) -> Result<(), CliError> {
        let Some(path) = file else {
            return self.print(text.trim_end());
        };
        tuner::write_text(path, &Plain(text).to_string())?;
        self.remark_written(path)
    }

    /// Says that a file is written.
    pub(crate) fn remark_written(self, path: &Path) -> Result<(), CliError> {
        self.remark(format_args!("{} is written", path.display()))
    }

    pub(crate) fn print_json(self, value: &impl Serialize) -> Result<(), CliError> {
        self.print(to_pretty_json(value)?)
    }

    /// Prints an answer as JSON or as this text.
    pub(crate) fn print_answer(
        self,
        as_json: bool,
        answer: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<Answer, CliError> {
        if as_json {
            self.print_json(answer)?
        } else {
            self.print(text())?
        }
        Ok(Answer::Good)
    }

    /// Prints a warning to standard error.
    pub(crate) fn warn(self, text: impl Display) {
        print_diagnostic("warning", text);
    }
}

/// A result as JSON.
pub(crate) fn to_pretty_json(value: &impl Serialize) -> Result<String, CliError> {
    // A value sorts the keys.
    let value = serde_json::to_value(value).map_err(CliError::Json)?;
    Ok(format!("{value:#}"))
}

/// The most characters of a warning, an error or a remedy; quotations are shortened before.
pub(crate) const MOST_CHARACTERS: usize = 1600;

/// Prints an error as one line of JSON to standard error.
pub(crate) fn print_json_error(error: &impl Serialize) {
    // Strings can always be written as JSON.
    if let Ok(line) = serde_json::to_string(error) {
        let _ = writeln!(io::stderr(), "{}", Plain(line));
    }
}

/// Prints a diagnostic, such as a warning, to standard error.
pub(crate) fn print_diagnostic(kind: &str, text: impl Display) {
    let text = Plain(text).to_string();
    // If standard error is closed, the message is lost.
    let _ = writeln!(
        io::stderr(),
        "{kind}: {}",
        shortened(&text, MOST_CHARACTERS)
    );
}

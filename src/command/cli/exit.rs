//! Exit codes.
//!
//! | code | meaning | examples |
//! |---|---|---|
//! | 0 | success | also if the reader of the output goes away early |
//! | 1 | the answer is "no" | `schedule verify` found a fault; a table does not hold; a gate of a release is closed |
//! | 2 | bad usage or input | unknown option; error in a campaign or table; missing, damaged or newer store, or another file in its place; output that cannot be written |
//! | 3 | unfit environment | no MPI library, launcher or measuring program; failing launcher; other version than a table's; full disk; store or address in use; unreachable service |
//! | 4 | internal error | a bug in colltune |
//! | 5 | the machine became slower | only of `check`: choices are slower than in the table where the default is, too |
//! | 130 | interrupted | SIGINT or SIGTERM; all measurements so far are stored |
//!
//! `run` exits with the exit code of its command, or with 128 plus the number of the signal that ended it. `remote
//! watch` and `remote submit --wait` exit with the code of the task's verb, or with 3 if the task was cancelled.

use std::io;
use std::panic::{self, UnwindSafe};
use std::process::ExitCode;

use printable::shortened;
use schemars::JsonSchema;
use serde::Serialize;
use vocabulary::ErrorKind;

use crate::console::{MOST_CHARACTERS, print_diagnostic, print_json_error};
use crate::error::CliError;

/// The exit code of [`Answer::SlowerMachine`].
const SLOWER_MACHINE: u8 = answers::SLOWER_MACHINE_CODE as u8;

/// The answer of a command that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Success.
    Good,
    /// A check failed.
    No,
    /// This machine cannot be measured.
    Unfit,
    /// The library or the machine became slower than when a table was made.
    SlowerMachine,
    /// The user's program was run, and ended with this exit code.
    Program(u8),
}

/// The output of a verb that fails with `--json`, as one line on standard error.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Failure {
    /// The error.
    error: Problem,
}

/// An error.
#[derive(JsonSchema, Serialize)]
struct Problem {
    /// The kind of the error, which determines the exit code.
    kind: ErrorKind,
    /// What is wrong, as a sentence without a full stop.
    message: String,
    /// A remedy; null if the message has one or there is none.
    help: Option<String>,
    /// The file with the mistake; null unless it is a YAML file.
    file: Option<String>,
    /// The line of the mistake, from 1; null without a file.
    line: Option<usize>,
    /// The column of the mistake in characters, from 1; null without a file.
    column: Option<usize>,
    /// The field with the mistake, as in `shapes[1]`; null without a file, and for the whole file.
    field: Option<String>,
}

impl Problem {
    fn new(kind: ErrorKind, message: &str, help: Option<&str>) -> Self {
        Self {
            kind,
            message: shortened(message, MOST_CHARACTERS).into_owned(),
            help: help.map(|help| shortened(help, MOST_CHARACTERS).into_owned()),
            file: None,
            line: None,
            column: None,
            field: None,
        }
    }

    fn from_error(kind: ErrorKind, error: &CliError) -> Self {
        let Some(mistake) = error.diagnostic() else {
            return Self::new(kind, &error.to_string(), error.help().as_deref());
        };
        let field = mistake.field.to_string();
        let field = shortened(&field, MOST_CHARACTERS).into_owned();
        Self {
            file: Some(mistake.path.display().to_string()),
            line: Some(mistake.line),
            column: Some(mistake.column),
            field: Some(field).filter(|field| !field.is_empty()),
            ..Self::new(kind, &mistake.message, Some(&mistake.help))
        }
    }

    fn print(self) {
        print_json_error(&Failure { error: self });
    }
}

/// Runs a command, prints its error, and returns the exit code.
pub(crate) fn run_guarded(
    command: impl FnOnce() -> Result<Answer, CliError> + UnwindSafe,
    as_json: bool,
) -> ExitCode {
    let kind = match panic::catch_unwind(command) {
        Ok(Ok(Answer::Program(code))) => return ExitCode::from(code),
        Ok(Ok(Answer::Good)) => return ExitCode::SUCCESS,
        Ok(Ok(Answer::SlowerMachine)) => return ExitCode::from(SLOWER_MACHINE),
        Ok(Err(error)) if is_closed_pipe(&error) => return ExitCode::SUCCESS,
        Ok(Ok(Answer::No)) => ErrorKind::No,
        Ok(Ok(Answer::Unfit)) => ErrorKind::Environment,
        Ok(Err(error)) => {
            let kind = error_kind(&error);
            if as_json {
                Problem::from_error(kind, &error).print();
            } else {
                print_diagnostic("error", &error);
                if let Some(help) = error.help() {
                    print_diagnostic("help", help);
                }
            }
            kind
        }
        // The panic has printed its message.
        Err(_) => {
            let message = "this is a bug in colltune; all measurements so far are stored";
            if as_json {
                Problem::new(ErrorKind::Internal, message, None).print()
            } else {
                print_diagnostic("error", message)
            }
            ErrorKind::Internal
        }
    };
    ExitCode::from(kind as u8)
}

/// Whether the error is that the reader of standard output has closed it.
fn is_closed_pipe(error: &CliError) -> bool {
    matches!(error, CliError::Output(source) if source.kind() == io::ErrorKind::BrokenPipe)
}

fn error_kind(error: &CliError) -> ErrorKind {
    if files::is_disk_full(error) {
        ErrorKind::Environment
    } else {
        error.kind()
    }
}

#[cfg(test)]
mod tests {
    use store::StoreError;
    use table::TableError;

    use super::*;

    #[test]
    fn errors_that_only_a_bug_can_cause_are_internal() {
        let panicked = run_guarded(|| panic!("on purpose"), false);
        assert_eq!(panicked, ExitCode::from(ErrorKind::Internal as u8));
        let what = "reported task 2, which its plan does not have".to_owned();
        let unplanned = StoreError::Unplanned { launch: 1, what };
        assert_eq!(error_kind(&unplanned.into()), ErrorKind::Internal);
        let altered = TableError::Altered { path: "t".into() };
        assert_eq!(error_kind(&altered.into()), ErrorKind::Internal);
    }
}

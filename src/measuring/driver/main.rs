//! The MPI program that measures. It reads a plan, appends records to the plan's spool file, and decides only how
//! often candidates are repeated.
//!
//! A launcher starts `colltune-driver PLAN` on every rank. `colltune-driver --identify` prints the MPI library that
//! it is linked to, `--natives` the algorithms that this library allows to force, and `--settings` the settings that
//! users have changed in it. The exit codes are in [`wire::exit_code`].
//!
//! The loop that compares candidates is that of `benchmarking`; `executor.rs` carries out its calls. A cell's samples
//! are one line of the spool, so a cell is stored whole or not at all, and a line before each turn names its candidate:
//! if the launch dies, the failure has a name (`session.rs`). A task also reports where its time went, from
//! clock readings outside the calls.

mod buffers;
mod candidate;
mod clock;
mod computation;
mod data;
mod environment;
mod error;
mod executor;
mod experiment;
mod rules;
mod session;
mod settings;
mod synchronise;
mod topology;
mod watchdog;

use std::path::Path;
use std::process::ExitCode;

use ::environment::variables;
use files::Plain;
use serde::Serialize;

use crate::error::DriverError;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        // The library's settings, before this program changes any.
        [flag] if flag == settings::PRINT => {
            to_exit_code(settings::read_control_variables().and_then(print_json))
        }
        [flag] if flag == "--settings" => {
            let changed = settings::find_changed_settings([]).ok_or(DriverError::Settings);
            to_exit_code(changed.and_then(print_json))
        }
        arguments => run_with_forcing(arguments),
    }
}

/// Commands for which algorithms can be forced.
fn run_with_forcing(arguments: &[String]) -> ExitCode {
    let given = match rules::set_rules_aside() {
        Ok(given) => given,
        Err(error) => return to_exit_code(Err(error)),
    };
    // Forcing must not change the library's default.
    if variables::may_force(&given.variables) && !given.is_forced_in_vain {
        exec::allow_forcing();
    }
    match arguments {
        [flag] if flag == "--identify" => to_exit_code(print_json(exec::identify_library())),
        [flag] if flag == "--natives" => to_exit_code(
            exec::list_natives()
                .map(|natives| [natives, given.components.forceable].concat())
                .map_err(Into::into)
                .and_then(print_json),
        ),
        [plan] => match session::run_plan(Path::new(plan), given) {
            Ok(()) => ExitCode::SUCCESS,
            // Finalising MPI after an error may wait forever for other ranks.
            Err(error) => exec::exit_now(report_error(&error)),
        },
        _ => to_exit_code(Err(DriverError::Usage)),
    }
}

fn to_exit_code(outcome: Result<(), DriverError>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => ExitCode::from(report_error(&error) as u8),
    }
}

/// Prints a value as JSON in one line.
fn print_json(value: impl Serialize) -> Result<(), DriverError> {
    println!("{}", Plain(serde_json::to_string(&value)?));
    Ok(())
}

fn report_error(error: &DriverError) -> i32 {
    eprintln!("{}{}", error.message_prefix(), Plain(error));
    error.exit_code()
}

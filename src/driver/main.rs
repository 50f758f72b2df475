//! The MPI program that measures. It reads one plan, appends records to the plan's spool file, and
//! decides only how often candidates are repeated.
//!
//! `colltune-driver PLAN` is started by a launcher on every rank; `colltune-driver --identify`
//! prints the library that it is linked to, `colltune-driver --natives` the algorithms that this
//! library lets one force, and `colltune-driver --settings` what users have set in it. Its exit
//! codes are in [`wire::exit_code`].

mod buffers;
mod candidate;
mod clock;
mod data;
mod environment;
mod error;
mod executor;
mod experiment;
mod identify;
mod rules;
mod session;
mod settings;
mod spool;
mod synchronise;
mod topology;
mod watchdog;

use std::path::Path;
use std::process::ExitCode;

use ::environment::variables;

use crate::error::DriverError;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        // The settings as the library has them, without anything of ours.
        [flag] if flag == settings::PRINT => end(settings::print_all()),
        [flag] if flag == "--settings" => end(settings::print_changed()),
        arguments => with_forcing(arguments),
    }
}

/// What needs algorithms that can be forced.
fn with_forcing(arguments: &[String]) -> ExitCode {
    let given = match rules::set_aside() {
        Ok(given) => given,
        Err(error) => return end(Err(error)),
    };
    // The default must stay what it is.
    if variables::may_force(&given.variables) && !given.is_forced_in_vain {
        exec::allow_forcing();
    }
    match arguments {
        [flag] if flag == "--identify" => end(identify::print()),
        [flag] if flag == "--natives" => end(identify::print_natives()),
        [plan] => match session::run(Path::new(plan), given) {
            Ok(()) => ExitCode::SUCCESS,
            // Finalising after an error may wait for ranks that will never come.
            Err(error) => exec::exit_now(report(&error)),
        },
        _ => end(Err(DriverError::Usage)),
    }
}

fn end(outcome: Result<(), DriverError>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => ExitCode::from(report(&error) as u8),
    }
}

fn report(error: &DriverError) -> i32 {
    eprintln!("{}{error}", error.prefix());
    error.exit_code()
}

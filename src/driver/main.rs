//! The MPI program that measures. It reads one plan, appends records to the plan's spool file, and
//! decides nothing but how often candidates are repeated.
//!
//! `colltune-driver PLAN` is started by a launcher on every rank; `colltune-driver --identify`
//! prints the library that it is linked to, `colltune-driver --natives` the algorithms that this
//! library lets one force. Its exit codes are in [`wire::exit_code`].

mod buffers;
mod clock;
mod contest;
mod data;
mod environment;
mod error;
mod experiment;
mod identify;
mod seat;
mod session;
mod spool;
mod synchronise;
mod topology;
mod watchdog;

use std::path::Path;
use std::process::ExitCode;

use ::environment::variables;

use crate::error::DriverError;

fn main() -> ExitCode {
    let variables = variables::of_this_process();
    if variables::may_force(&variables) {
        exec::allow_forcing();
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [flag] if flag == "--identify" => match identify::print() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(&error),
        },
        [flag] if flag == "--natives" => match identify::print_natives() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(&error),
        },
        [plan] => match session::run(Path::new(plan), variables) {
            Ok(()) => ExitCode::SUCCESS,
            // Finalising after an error may wait for ranks that will never come.
            Err(error) => exec::exit_now(report(&error)),
        },
        _ => fail(&DriverError::Usage),
    }
}

fn fail(error: &DriverError) -> ExitCode {
    ExitCode::from(report(error) as u8)
}

fn report(error: &DriverError) -> i32 {
    eprintln!("{}{error}", error.prefix());
    error.exit_code()
}

//! The command `colltune`.

mod args;
mod commands;
mod console;
mod error;
mod events;
mod exit;
mod interrupt;
mod progress;
mod values;

fn main() -> std::process::ExitCode {
    exit::guard(args::run, args::is_json())
}

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
    exit::run_guarded(args::run_command_line, args::is_json_wanted())
}

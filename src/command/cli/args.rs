//! The command line.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process;

use clap::{Command, CommandFactory, FromArgMatches, Parser};
use printable::{Plain, is_unprintable};

use crate::commands::{
    agent, audit, backup, cancel, check, completions, decide, deploy, diff, doctor, evaluate,
    explain, export, fit, gain, import, init, jobs, lookup, man, measure, plan, profile, pull,
    record, remote, report, run, samples, schedule, schema, serve, simulate, tune, validate,
};
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Answer;

/// Measure MPI collectives and decide which algorithms to use
///
/// colltune measures the collectives of an MPI library and its own algorithms on this machine,
/// explains the times with the alpha/beta/gamma model, and writes a decision table with the algorithm to use
/// for every collective, communicator shape and message size. A campaign file says what to measure.
#[derive(Debug, Parser)]
#[command(name = "colltune", version, max_term_width = 100, after_help = FIRST_STEPS)]
pub(crate) struct Cli {
    /// Print no progress bars, summaries and hints, but still warnings and errors
    #[arg(long, short, global = true, display_order = 900)]
    quiet: bool,
    #[command(subcommand)]
    verb: Verb,
}

const FIRST_STEPS: &str = "\
Examples:
  colltune doctor
  colltune init
  colltune tune campaign.yaml
  colltune lookup tables/my-machine.yaml --collective allreduce --nodes 1 --ppn 2 --bytes 64K

Exit codes: 0 success; 1 the answer is \"no\"; 2 bad usage or input; 3 unfit environment (no MPI, no
launcher); 4 internal error; 130 interrupted. `run` exits with the exit code of the program.";

/// Declares the verbs of a command with their arguments, and the method that runs the given one.
macro_rules! verbs {
    ($Context:ty: $($Verb:ident($Args:ty),)*) => {
        #[derive(Debug, clap::Subcommand)]
        enum Verb {
            $($Verb($Args),)*
        }

        impl Verb {
            fn run(&self, context: $Context) -> Result<Answer, CliError> {
                match self {
                    $(Self::$Verb(args) => args.run(context),)*
                }
            }
        }
    };
}
pub(crate) use verbs;

verbs! {
    Console:
    Doctor(doctor::DoctorArgs),
    Audit(audit::AuditArgs),
    Init(init::InitArgs),
    Plan(plan::PlanArgs),
    Tune(tune::TuneArgs),
    Measure(measure::MeasureArgs),
    Jobs(jobs::JobsArgs),
    Cancel(cancel::CancelArgs),
    Fit(fit::FitArgs),
    Decide(decide::DecideArgs),
    Evaluate(evaluate::EvaluateArgs),
    Import(import::ImportArgs),
    Report(report::ReportArgs),
    Samples(samples::SamplesArgs),
    Lookup(lookup::LookupArgs),
    Explain(explain::ExplainArgs),
    Export(export::ExportArgs),
    Deploy(deploy::DeployArgs),
    Diff(diff::DiffArgs),
    Validate(validate::ValidateArgs),
    Check(check::CheckArgs),
    Run(run::RunArgs),
    Record(record::RecordArgs),
    Profile(profile::ProfileArgs),
    Gain(gain::GainArgs),
    Serve(serve::ServeArgs),
    Agent(agent::AgentArgs),
    Pull(pull::PullArgs),
    Remote(remote::RemoteArgs),
    Backup(backup::BackupArgs),
    Restore(backup::RestoreArgs),
    Schedule(schedule::ScheduleArgs),
    Schema(schema::SchemaArgs),
    Simulate(simulate::SimulateArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// Reads the command line and runs the verb; help, and wrong usage without `--json`, end the process here.
pub(crate) fn run_command_line() -> Result<Answer, CliError> {
    let given = with_negative_numbers(Cli::command()).try_get_matches();
    let Cli { quiet, verb } = match given.and_then(|given| Cli::from_arg_matches(&given)) {
        Ok(cli) => cli,
        Err(error) if is_json_wanted() && error.use_stderr() => return Err(CliError::Usage(error)),
        Err(error) => print_usage_and_exit(&error),
    };
    refuse_non_utf8_for_json()?;
    verb.run(Console::new(quiet))
}

/// Prints help, or the error of wrong usage, and ends the process.
fn print_usage_and_exit(error: &clap::Error) -> ! {
    let mut args = std::env::args_os();
    if !args.any(|arg| arg.to_string_lossy().contains(is_unprintable)) {
        error.exit();
    }
    // The error may quote an argument with unprintable characters, such as the name of a file that a shell has found.
    // If standard error is closed, the message is lost.
    let _ = write!(io::stderr(), "{}", Plain(error.render()));
    process::exit(error.exit_code());
}

/// The command with options whose values may be negative numbers, so that the parsers of values can refuse them with
/// the range.
fn with_negative_numbers(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let is_option = !arg.is_positional() && arg.get_action().takes_values();
        arg.allow_negative_numbers(is_option)
    });
    command.mut_subcommands(with_negative_numbers)
}

/// The arguments before `--`, without those of the user's program.
fn own_args() -> impl Iterator<Item = OsString> {
    std::env::args_os().take_while(|arg| arg != "--")
}

/// Whether errors are printed as JSON.
pub(crate) fn is_json_wanted() -> bool {
    own_args().any(|arg| arg == "--json")
}

/// Refuses arguments that are not UTF-8 if JSON is printed, which cannot contain them.
fn refuse_non_utf8_for_json() -> Result<(), CliError> {
    let prints_json = is_json_wanted() || own_args().any(|arg| arg == "--events");
    let strange = own_args().find(|arg| arg.to_str().is_none());
    match strange.filter(|_| prints_json) {
        Some(name) => Err(CliError::NoNameInJson { name }),
        None => Ok(()),
    }
}

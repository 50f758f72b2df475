//! Exit codes.
//!
//! | code | meaning | examples |
//! |---|---|---|
//! | 0 | success | also if the reader of the output goes away early |
//! | 1 | the answer is "no" | `schedule verify` found a fault; a table does not hold; a gate of a release is closed |
//! | 2 | bad usage or input | unknown option; error in a campaign or table; missing, damaged or newer store, or another file in its place; output that cannot be written |
//! | 3 | unfit environment | no MPI library, launcher or measuring program; failing launcher; other version than a table's; full disk; store or address in use; unreachable service |
//! | 4 | internal error | a bug in colltune |
//! | 130 | interrupted | SIGINT or SIGTERM; all measurements so far are stored |
//!
//! `run` exits with the exit code of its command, or with 128 plus the number of the signal that ended it. `remote
//! watch` and `remote submit --wait` exit with the code of the task's verb, or with 3 if the task was cancelled.

use std::io;
use std::panic::{self, UnwindSafe};
use std::process::ExitCode;

use client::RequestOutcome;
use export::ExportError;
use export::deploy::DeployError;
use fit::FitError;
use guard::GuardError;
use import::ImportError;
use launcher::LaunchError;
use schemars::JsonSchema;
use serde::Serialize;
use service::ServiceError;
use store::StoreError;
use table::TableError;
use tuner::TunerError;
use web::WebError;

use crate::console::{print_diagnostic, print_json_error};
use crate::error::CliError;

/// The answer of a command that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Success.
    Good,
    /// A check failed.
    No,
    /// This machine cannot be measured.
    Unfit,
    /// The user's program was run, and ended with this exit code.
    Program(u8),
}

/// The kind of an error, which determines the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub(crate) enum Kind {
    /// The answer is "no". Exit code 1.
    No = 1,
    /// Usage or input is bad. Exit code 2.
    Input = 2,
    /// The environment is unfit. Exit code 3.
    Environment = 3,
    /// A bug in colltune. Exit code 4.
    Internal = 4,
    /// The verb was interrupted. Exit code 130.
    Interrupted = 130,
}

/// The output of a verb that fails with `--json`, as one line on standard error.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Failure {
    error: Problem,
}

/// An error.
#[derive(JsonSchema, Serialize)]
struct Problem {
    kind: Kind,
    message: String,
    /// A remedy; null if the message has one or there is none.
    help: Option<String>,
}

/// Runs a command, prints its error, and returns the exit code.
pub(crate) fn guard(
    command: impl FnOnce() -> Result<Answer, CliError> + UnwindSafe,
    as_json: bool,
) -> ExitCode {
    let kind = match panic::catch_unwind(command) {
        Ok(Ok(Answer::Program(code))) => return ExitCode::from(code),
        Ok(Ok(Answer::Good)) => return ExitCode::SUCCESS,
        Ok(Err(error)) if is_closed_pipe(&error) => return ExitCode::SUCCESS,
        Ok(Ok(Answer::No)) => Kind::No,
        Ok(Ok(Answer::Unfit)) => Kind::Environment,
        Ok(Err(error)) => {
            let kind = of(&error);
            report(kind, error.to_string(), error.help(), as_json);
            kind
        }
        // The panic has printed its message.
        Err(_) => {
            let message = "this is a bug in colltune; all measurements so far are stored";
            report(Kind::Internal, message.to_owned(), None, as_json);
            Kind::Internal
        }
    };
    ExitCode::from(kind as u8)
}

fn report(kind: Kind, message: String, help: Option<String>, as_json: bool) {
    if as_json {
        let error = Problem {
            kind,
            message,
            help,
        };
        print_json_error(&Failure { error });
        return;
    }
    print_diagnostic("error", message);
    if let Some(help) = help {
        print_diagnostic("help", help);
    }
}

/// Whether the error is that the reader of standard output has closed it.
fn is_closed_pipe(error: &CliError) -> bool {
    matches!(error, CliError::Output(source) if source.kind() == io::ErrorKind::BrokenPipe)
}

/// The kind of an error.
pub(crate) fn of(error: &CliError) -> Kind {
    if is_full_disk(error) {
        return Kind::Environment;
    }
    match error {
        CliError::Tuner(error) => of_tuner(error),
        CliError::Import(error) => match &**error {
            ImportError::Store(error) => of_store(error),
            _ => Kind::Input,
        },
        CliError::Export(ExportError::Unfaithful(_)) => Kind::Internal,
        CliError::Export(_) => Kind::Input,
        CliError::Deploy(error) => of_deploy(error),
        CliError::Guard(error) => of_guard(error),
        CliError::Service(error) => of_service(error),
        CliError::Remote(error) => of_outcome(error.outcome()),
        CliError::Pull { source, .. } => of_outcome(source.outcome()),
        CliError::Older { .. } => Kind::Environment,
        CliError::Web(WebError::Open { .. } | WebError::Pem { .. } | WebError::Tls(_)) => {
            Kind::Input
        }
        CliError::Web(WebError::Listen { .. } | WebError::Threads(_)) => Kind::Environment,
        CliError::Web(WebError::Metrics(_)) => Kind::Internal,
        CliError::Usage(_)
        | CliError::UnknownAlgorithm { .. }
        | CliError::AmbiguousAlgorithm { .. }
        | CliError::NoSchema { .. }
        | CliError::NoSchedules { .. }
        | CliError::NoData { .. }
        | CliError::Unsupported(_)
        | CliError::NoSuchRank { .. }
        | CliError::TooLargeToDraw { .. }
        | CliError::Unprovable(_)
        | CliError::Untraceable(_)
        | CliError::Simulate(_)
        | CliError::NoService
        | CliError::StoreMoved { .. }
        | CliError::OtherLibrary { .. }
        | CliError::Exists { .. }
        | CliError::NotDetachable
        | CliError::NothingSubmitted
        | CliError::UnknownJob { .. }
        | CliError::NoNameInJson { .. }
        | CliError::Output(_) => Kind::Input,
        CliError::Signals(_)
        | CliError::NoLauncher { .. }
        | CliError::NoPreload { .. }
        | CliError::Command { .. } => Kind::Environment,
        CliError::Json(_) | CliError::Junit(_) => Kind::Internal,
    }
}

/// Whether the cause is a full disk or an exceeded quota.
fn is_full_disk(error: &CliError) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(current) = cause {
        if let Some(io) = current.downcast_ref::<io::Error>()
            && matches!(
                io.kind(),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
            )
        {
            return true;
        }
        cause = current.source();
    }
    false
}

fn of_tuner(error: &TunerError) -> Kind {
    match error {
        TunerError::Campaign(_)
        | TunerError::Machine(_)
        | TunerError::NoLibraryToChoose
        | TunerError::File { .. }
        | TunerError::Output { .. }
        | TunerError::SameFile { .. }
        | TunerError::NothingMeasured { .. }
        | TunerError::SeveralLibraries { .. }
        | TunerError::OtherConditions { .. }
        | TunerError::NoMachine { .. }
        | TunerError::NothingToDecide { .. }
        | TunerError::NothingToHoldOut { .. }
        | TunerError::NothingToJudge { .. }
        | TunerError::ShortWallTime { .. } => Kind::Input,
        TunerError::Rules(_) => Kind::Internal,
        TunerError::Launch(error) => of_launch(error),
        TunerError::Store(error) => of_store(error),
        TunerError::Fit(error) => match **error {
            FitError::NotATime { .. } => Kind::Input,
            FitError::TooManyRepetitions { .. } | FitError::Query(_) | FitError::Search(_) => {
                Kind::Internal
            }
        },
        TunerError::Table(error) => match error {
            TableError::Unsound(_) | TableError::Altered { .. } => Kind::Internal,
            _ => Kind::Input,
        },
        TunerError::Interrupted | TunerError::Left { .. } => Kind::Interrupted,
        TunerError::NoProgress { .. }
        | TunerError::Cancelled
        | TunerError::LeaseLost
        | TunerError::NeverBegun { .. } => Kind::Environment,
    }
}

fn of_guard(error: &GuardError) -> Kind {
    match error {
        GuardError::Tuner(error) => of_tuner(error),
        GuardError::Interrupted => Kind::Interrupted,
        GuardError::OtherLibrary { .. }
        | GuardError::NoLauncher { .. }
        | GuardError::OtherOrder { .. }
        | GuardError::NothingMeasured => Kind::Environment,
        GuardError::Export(_)
        | GuardError::NoCampaign { .. }
        | GuardError::ReadsNoTables { .. }
        | GuardError::NothingToMeasure { .. }
        | GuardError::NoProbes => Kind::Input,
    }
}

fn of_deploy(error: &DeployError) -> Kind {
    match error {
        DeployError::Unconfirmed { .. }
        | DeployError::Nothing { .. }
        | DeployError::NothingForLibrary { .. }
        | DeployError::NothingBefore { .. }
        | DeployError::Gone { .. } => Kind::No,
        DeployError::Busy { .. } => Kind::Environment,
        DeployError::Table(_) => Kind::Internal,
        _ => Kind::Input,
    }
}

fn of_service(error: &ServiceError) -> Kind {
    match error {
        ServiceError::Conflict(_)
        | ServiceError::Gates { .. }
        | ServiceError::Precondition { .. } => Kind::No,
        ServiceError::Forbidden { .. }
        | ServiceError::NotFound { .. }
        | ServiceError::Invalid { .. }
        | ServiceError::Campaign(_)
        | ServiceError::Table(_)
        | ServiceError::Configuration(_)
        | ServiceError::Newer { .. }
        | ServiceError::BadDatabase { .. }
        | ServiceError::Damaged { .. }
        | ServiceError::NoLog(_)
        | ServiceError::File { .. } => Kind::Input,
        ServiceError::Locked { .. }
        | ServiceError::NetworkFileSystem { .. }
        | ServiceError::Random(_)
        | ServiceError::Database(_) => Kind::Environment,
        ServiceError::Deploy(error) => of_deploy(error),
    }
}

fn of_outcome(outcome: RequestOutcome) -> Kind {
    match outcome {
        RequestOutcome::Refused => Kind::No,
        RequestOutcome::Invalid => Kind::Input,
        RequestOutcome::Unavailable => Kind::Environment,
    }
}

fn of_launch(error: &LaunchError) -> Kind {
    match error {
        LaunchError::SeveralNodes { .. }
        | LaunchError::Log { .. }
        | LaunchError::Refused { .. }
        | LaunchError::Template { .. }
        | LaunchError::NotText { .. }
        | LaunchError::Step { .. }
        | LaunchError::File { .. }
        | LaunchError::Record { .. } => Kind::Input,
        LaunchError::Interrupted => Kind::Interrupted,
        LaunchError::NoMpi { .. }
        | LaunchError::NotInstalled { .. }
        | LaunchError::Unusable { .. }
        | LaunchError::OtherLibrary { .. }
        | LaunchError::NoDriver { .. }
        | LaunchError::TooFewCores { .. }
        | LaunchError::Crowded { .. }
        | LaunchError::NoNatives { .. }
        | LaunchError::Start { .. }
        | LaunchError::Watch(_)
        | LaunchError::Survivors { .. }
        | LaunchError::NoCommand { .. }
        | LaunchError::Silent { .. }
        | LaunchError::NotCancelled { .. }
        | LaunchError::Failed { .. } => Kind::Environment,
    }
}

fn of_store(error: &StoreError) -> Kind {
    match error {
        StoreError::Absent { .. }
        | StoreError::Folder { .. }
        | StoreError::File { .. }
        | StoreError::NotAStore { .. }
        | StoreError::Newer { .. }
        | StoreError::Corrupt { .. }
        | StoreError::Imported { .. }
        | StoreError::OtherOrder { .. }
        | StoreError::NotWritable { .. } => Kind::Input,
        StoreError::DiskFull { .. }
        | StoreError::Busy { .. }
        | StoreError::Device { .. }
        | StoreError::Locked { .. } => Kind::Environment,
        StoreError::Sqlite { .. }
        | StoreError::UnknownCampaign { .. }
        | StoreError::LaunchExists { .. }
        | StoreError::NotUnderWay { .. }
        | StoreError::Unplanned { .. }
        | StoreError::Spool { .. } => Kind::Internal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_a_bug_can_cause_is_internal() {
        let panicked = guard(|| panic!("on purpose"), false);
        assert_eq!(panicked, ExitCode::from(Kind::Internal as u8));
        let what = "reported task 2, which its plan does not have".to_owned();
        let unplanned = StoreError::Unplanned { launch: 1, what };
        assert_eq!(of(&unplanned.into()), Kind::Internal);
        let altered = TableError::Altered { path: "t".into() };
        assert_eq!(of(&altered.into()), Kind::Internal);
    }
}

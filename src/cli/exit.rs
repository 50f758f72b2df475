//! How the process ends.
//!
//! | code | meaning | examples |
//! |---|---|---|
//! | 0 | good | also when the reader of the output goes away early |
//! | 1 | the answer is "no" | `schedule verify` found a fault; a table does not hold; a gate of a release is closed |
//! | 2 | bad usage or input | unknown flag; mistake in a campaign or table; a store that is absent, damaged, newer or something else; an output that cannot be written |
//! | 3 | the environment is unfit | no MPI library, launcher or measuring program; a launcher that fails; another version than a table's; a full disk; another colltune at work on the store; an address that another program has; a service that is away |
//! | 4 | internal error | a bug in colltune |
//! | 130 | interrupted | SIGINT or SIGTERM; what was measured is stored |
//!
//! `run` ends as the command that it has started, by its exit code or 128 and the number of its signal; `remote watch` and
//! `remote submit --wait` as the task's verb, with 3 where that was cancelled.

use std::io;
use std::panic::{self, UnwindSafe};
use std::process::ExitCode;

use client::Outcome;
use export::ExportError;
use export::deploy::DeployError;
use fit::FitError;
use guard::GuardError;
use import::ImportError;
use launcher::LaunchError;
use service::ServiceError;
use store::StoreError;
use table::TableError;
use tuner::TunerError;
use web::WebError;

use crate::console::complain;
use crate::error::CliError;

/// What a command that was carried out found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// All is well.
    Good,
    /// A check failed.
    No,
    /// This machine cannot be measured.
    Unfit,
    /// A program of the user's was run, and ended with this exit code.
    Program(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Code {
    Good = 0,
    No = 1,
    Input = 2,
    Environment = 3,
    Internal = 4,
    Interrupted = 130,
}

/// Carries out a command, prints its error, and turns everything into an exit code.
pub(crate) fn guard(command: impl FnOnce() -> Result<Answer, CliError> + UnwindSafe) -> ExitCode {
    let code = match panic::catch_unwind(command) {
        Ok(Ok(Answer::Program(code))) => return ExitCode::from(code),
        Ok(Ok(Answer::Good)) => Code::Good,
        Ok(Ok(Answer::No)) => Code::No,
        Ok(Ok(Answer::Unfit)) => Code::Environment,
        Ok(Err(error)) => report(&error),
        // The panic has printed its message.
        Err(_) => {
            complain(
                "error",
                "this is a bug in colltune; what was measured is stored",
            );
            Code::Internal
        }
    };
    ExitCode::from(code as u8)
}

fn report(error: &CliError) -> Code {
    if is_closed_pipe(error) {
        return Code::Good;
    }
    complain("error", error);
    if let Some(help) = error.help() {
        complain("help", help);
    }
    of(error)
}

/// Whether the reader of standard output has had enough.
fn is_closed_pipe(error: &CliError) -> bool {
    matches!(error, CliError::Output(source) if source.kind() == io::ErrorKind::BrokenPipe)
}

/// The exit code of an error.
pub(crate) fn of(error: &CliError) -> Code {
    if is_full_disk(error) {
        return Code::Environment;
    }
    match error {
        CliError::Tuner(error) => of_tuner(error),
        CliError::Import(error) => match &**error {
            ImportError::Store(error) => of_store(error),
            _ => Code::Input,
        },
        CliError::Export(ExportError::Unfaithful(_)) => Code::Internal,
        CliError::Export(_) => Code::Input,
        CliError::Deploy(error) => of_deploy(error),
        CliError::Guard(error) => of_guard(error),
        CliError::Service(error) => of_service(error),
        CliError::Remote(error) => of_outcome(error.outcome()),
        CliError::Pull { source, .. } => of_outcome(source.outcome()),
        CliError::Older { .. } => Code::Environment,
        CliError::Web(WebError::Open { .. } | WebError::Pem { .. } | WebError::Tls(_)) => {
            Code::Input
        }
        CliError::Web(WebError::Listen { .. } | WebError::Threads(_)) => Code::Environment,
        CliError::Web(WebError::Metrics(_)) => Code::Internal,
        CliError::UnknownAlgorithm { .. }
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
        | CliError::Output(_) => Code::Input,
        CliError::Signals(_)
        | CliError::NoLauncher { .. }
        | CliError::NoPreload { .. }
        | CliError::Command { .. } => Code::Environment,
        CliError::Json(_) | CliError::Junit(_) => Code::Internal,
    }
}

/// Whether a disk is full or a quota used up, whichever file was being written.
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

fn of_tuner(error: &TunerError) -> Code {
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
        | TunerError::ShortWallTime { .. } => Code::Input,
        TunerError::Rules(_) => Code::Internal,
        TunerError::Launch(error) => of_launch(error),
        TunerError::Store(error) => of_store(error),
        TunerError::Fit(error) => match **error {
            FitError::NotATime { .. } => Code::Input,
            FitError::TooManyRepetitions { .. } | FitError::Query(_) | FitError::Search(_) => {
                Code::Internal
            }
        },
        TunerError::Table(error) => match error {
            TableError::Unsound(_) | TableError::Altered { .. } => Code::Internal,
            _ => Code::Input,
        },
        TunerError::Interrupted | TunerError::Left { .. } => Code::Interrupted,
        TunerError::NoProgress { .. }
        | TunerError::Cancelled
        | TunerError::LeaseLost
        | TunerError::NeverBegun { .. } => Code::Environment,
    }
}

fn of_guard(error: &GuardError) -> Code {
    match error {
        GuardError::Tuner(error) => of_tuner(error),
        GuardError::Interrupted => Code::Interrupted,
        GuardError::OtherLibrary { .. }
        | GuardError::NoLauncher { .. }
        | GuardError::OtherOrder { .. }
        | GuardError::NothingMeasured => Code::Environment,
        GuardError::Export(_)
        | GuardError::NoCampaign { .. }
        | GuardError::ReadsNoTables { .. }
        | GuardError::NothingToMeasure { .. }
        | GuardError::NoProbes => Code::Input,
    }
}

fn of_deploy(error: &DeployError) -> Code {
    match error {
        DeployError::Unconfirmed { .. }
        | DeployError::Nothing { .. }
        | DeployError::NothingForLibrary { .. }
        | DeployError::NothingBefore { .. }
        | DeployError::Gone { .. } => Code::No,
        DeployError::Busy { .. } => Code::Environment,
        DeployError::Table(_) => Code::Internal,
        _ => Code::Input,
    }
}

fn of_service(error: &ServiceError) -> Code {
    match error {
        ServiceError::Conflict(_)
        | ServiceError::Gates { .. }
        | ServiceError::Precondition { .. } => Code::No,
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
        | ServiceError::File { .. } => Code::Input,
        ServiceError::Locked { .. }
        | ServiceError::NetworkFileSystem { .. }
        | ServiceError::Random(_)
        | ServiceError::Database(_) => Code::Environment,
        ServiceError::Deploy(error) => of_deploy(error),
    }
}

fn of_outcome(outcome: Outcome) -> Code {
    match outcome {
        Outcome::No => Code::No,
        Outcome::Wrong => Code::Input,
        Outcome::Away => Code::Environment,
    }
}

fn of_launch(error: &LaunchError) -> Code {
    match error {
        LaunchError::SeveralNodes { .. }
        | LaunchError::Log { .. }
        | LaunchError::Refused { .. }
        | LaunchError::Template { .. }
        | LaunchError::NotText { .. }
        | LaunchError::Step { .. }
        | LaunchError::File { .. }
        | LaunchError::Record { .. } => Code::Input,
        LaunchError::Interrupted => Code::Interrupted,
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
        | LaunchError::Failed { .. } => Code::Environment,
    }
}

fn of_store(error: &StoreError) -> Code {
    match error {
        StoreError::Absent { .. }
        | StoreError::Folder { .. }
        | StoreError::File { .. }
        | StoreError::NotAStore { .. }
        | StoreError::Newer { .. }
        | StoreError::Corrupt { .. }
        | StoreError::Imported { .. }
        | StoreError::OtherOrder { .. }
        | StoreError::NotWritable { .. } => Code::Input,
        StoreError::DiskFull { .. }
        | StoreError::Busy { .. }
        | StoreError::Device { .. }
        | StoreError::Locked { .. } => Code::Environment,
        StoreError::Sqlite { .. }
        | StoreError::UnknownCampaign { .. }
        | StoreError::LaunchExists { .. }
        | StoreError::NotUnderWay { .. }
        | StoreError::Unplanned { .. }
        | StoreError::Spool { .. } => Code::Internal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_a_bug_can_cause_is_internal() {
        let panicked = guard(|| panic!("on purpose"));
        assert_eq!(panicked, ExitCode::from(Code::Internal as u8));
        let what = "reported task 2, which its plan does not have".to_owned();
        let unplanned = StoreError::Unplanned { launch: 1, what };
        assert_eq!(of(&unplanned.into()), Code::Internal);
        let altered = TableError::Altered { path: "t".into() };
        assert_eq!(of(&altered.into()), Code::Internal);
    }
}

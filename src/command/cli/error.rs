//! Errors of commands.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use agent::AgentError;
use campaign::{Campaign, CampaignError};
use client::{PullError, RemoteError};
use explained::Explained;
use export::ExportError;
use export::deploy::DeployError;
use frame::FrameError;
use guard::GuardError;
use import::ImportError;
use model::MachineError;
use profile::ProfileError;
use profile::usage::UsageError;
use schedule::export::TooLong;
use schedule::verify::Unprovable;
use schedule::{Collective, Unsupported};
use service::ServiceError;
use store::StoreError;
use strict_yaml::Diagnostic;
use table::{Table, TableError};
use thiserror::Error;
use tuner::{TunerError, load_machine};
use vocabulary::units::format_counted;
use vocabulary::{ErrorKind, Library};
use web::WebError;

use crate::commands::profile::UnreadableReason;
use crate::commands::profile::usage::is_of_later;
use crate::commands::schedule::{LengthOption, unsupported_help};
use crate::commands::simulate::SimulateError;

/// A command that could not be carried out.
#[derive(Debug, Error, Explained)]
#[help(fn own_help)]
pub(crate) enum CliError {
    #[error("{}", split_usage_error(.0).message)]
    #[kind(Input)]
    #[help(usage_help(_0))]
    Usage(clap::Error),
    /// Measuring, fitting or deciding failed.
    #[error(transparent)]
    #[kind(transparent)]
    #[help(_0.help().or_else(|| not_a_store_help(_0)))]
    Tuner(TunerError),
    /// Settings could not be examined.
    #[error(transparent)]
    #[kind(transparent)]
    #[help(transparent)]
    Audit(#[from] tuner::AuditError),
    #[error(transparent)]
    #[kind(transparent)]
    #[help(transparent)]
    Import(#[from] ImportError),
    /// A site's file cannot become a table.
    #[error(transparent)]
    #[kind(transparent)]
    #[help(transparent)]
    SiteRules(#[from] tuner::SiteRulesError),
    /// Options that go with another format.
    #[error("{option} does not go with files of {kind}")]
    #[kind(Input)]
    #[help("{remedy}")]
    ImportOption {
        option: &'static str,
        kind: &'static str,
        remedy: &'static str,
    },
    #[error(transparent)]
    #[kind(transparent)]
    #[help(transparent)]
    Export(#[from] ExportError),
    #[error(transparent)]
    #[kind(transparent)]
    #[help(transparent)]
    Deploy(DeployError),
    /// A table could not be tested.
    #[error(transparent)]
    #[kind(transparent)]
    #[help(transparent)]
    Guard(GuardError),
    /// A service failed, or its state cannot be used.
    #[error(transparent)]
    #[kind(transparent)]
    #[help(transparent)]
    Service(ServiceError),
    #[error(transparent)]
    #[kind(transparent)]
    #[help(transparent)]
    Web(#[from] WebError),
    #[error(transparent)]
    #[kind(transparent)]
    #[help(transparent)]
    Remote(#[from] RemoteError),
    #[error(transparent)]
    #[kind(transparent)]
    #[help(transparent)]
    Agent(#[from] AgentError),
    #[error("there is no user `{user}` on this host")]
    #[kind(Input)]
    NoUser { user: String },
    #[error("only root can write with the rights of {user}")]
    #[kind(Input)]
    #[help("leave out `--owner`, or run the command as that user")]
    NotRoot { user: String },
    #[error("cannot take on the rights of {user}: {source}")]
    #[kind(Input)]
    Owner { user: String, source: io::Error },
    #[error("no service is given")]
    #[kind(Input)]
    #[help(
        "give its URL with `--url`, or in the variable COLLTUNE_URL; `colltune serve` prints it"
    )]
    NoService,
    #[error("{source}; {}", kept_table_clause(table.as_deref()))]
    #[kind(transparent)]
    #[help(transparent)]
    Pull {
        source: Box<PullError>,
        table: Option<PathBuf>,
    },
    #[error(
        "the channel's table is here, but tables of earlier releases, which running jobs may use, could not be pulled ({count}): {first}"
    )]
    #[kind(Environment)]
    #[help(transparent(first))]
    Older { count: usize, first: PullError },
    #[error(transparent)]
    #[kind(Input)]
    #[help(transparent)]
    Simulate(#[from] SimulateError),
    #[error("there is no schema of `{verb}`")]
    #[kind(Input)]
    #[help("these verbs have one: {}", known.join(", "))]
    NoSchema {
        verb: String,
        known: Vec<&'static str>,
    },
    #[error("there is no algorithm `{name}`")]
    #[kind(Input)]
    #[help(
        if let Some(similar) = similar,
        "did you mean `{similar}`? `colltune schedule list` names them all"
    )]
    #[help("`colltune schedule list` names them all")]
    UnknownAlgorithm {
        name: String,
        /// The full name that is most like it.
        similar: Option<String>,
    },
    #[error("the campaign's launcher submits no jobs")]
    #[kind(Input)]
    #[help("leave `--render` out, or name a `launcher: {{slurm: ...}}` in the campaign")]
    NothingSubmitted,
    #[error("a call of {collective} has no data, so `--bytes` cannot be given")]
    #[kind(Input)]
    #[help("leave out `--bytes`")]
    NoData { collective: Collective },
    #[error("`{id}` may be any of {}", names.join(", "))]
    #[kind(Input)]
    #[help("give the full name")]
    AmbiguousAlgorithm { id: String, names: Vec<String> },
    /// A call that an algorithm does not support.
    #[error("{source}")]
    #[kind(Input)]
    #[help(unsupported_help(source, *length_by))]
    Unsupported {
        source: Unsupported,
        length_by: LengthOption,
    },
    /// One length for parts or blocks that have lengths of their own.
    #[error(
        "{collective} has {} of unlike lengths, and `{}` alone does not say how long each is",
        if collective.has_block_counts() { "blocks" } else { "parts" },
        length_by.name()
    )]
    #[kind(Input)]
    #[help(
        "add `--distribution uniform` or another distribution, or give all lengths with `--counts` instead of `{}`",
        length_by.name()
    )]
    NoDistribution {
        collective: Collective,
        length_by: LengthOption,
    },
    #[error("rank {rank} is not among ranks 0 to {}", ranks - 1)]
    #[kind(Input)]
    NoSuchRank {
        rank: u32,
        /// Ranks in the communicator, at least 1.
        ranks: u32,
    },
    #[error("{schedule} has more than {} items to draw", schedule::svg::LIMIT)]
    #[kind(Input)]
    #[help(
        "items are messages, combinations and copies, and ranks times steps: choose fewer ranks or blocks, or \
         --format text"
    )]
    TooLargeToDraw { schedule: String },
    /// A call that cannot be proved.
    #[error(transparent)]
    #[kind(Input)]
    #[help(
        if matches!(_0, Unprovable::TooLarge { .. }),
        "give fewer ranks with --ranks, or fewer blocks with --blocks"
    )]
    Unprovable(#[from] Unprovable),
    /// A message that a trace cannot describe.
    #[error(transparent)]
    #[kind(Input)]
    Untraceable(#[from] TooLong),
    #[error("{} has no times of {collective} to draw", source_file.display())]
    #[kind(Input)]
    #[help(if known.is_empty(), "measure it first: `colltune tune CAMPAIGN`")]
    #[help("it has times of {}", join_collectives(known))]
    NoMap {
        source_file: PathBuf,
        collective: Collective,
        /// The collectives that can be drawn.
        known: BTreeSet<Collective>,
    },
    #[error("the measurements of {} are not here: there is no {}", table.display(), store.display())]
    #[kind(Input)]
    #[help(
        "paths in a table are relative to the folder in which it was made: go there, or name the store with \
         `--store`"
    )]
    StoreMoved { table: PathBuf, store: PathBuf },
    #[error("{} was made for {made_for}, but the command uses {library}", table.display())]
    #[kind(Input)]
    #[help(
        if made_for.is_simulated(),
        "tune on the machine itself; to try the simulated rules, use `--force --unconfirmed`"
    )]
    #[help("measure with this library, or use the table anyway with `--force`")]
    OtherLibrary {
        table: PathBuf,
        made_for: Library,
        library: Library,
    },
    #[error("the command does not begin with a launcher: {source}")]
    #[kind(Environment)]
    #[help(
        "start ranks with a launcher, as in `colltune run TABLE -- mpirun -n 4 PROGRAM`; for other launchers and \
         scripts `colltune run TABLE --print-environment` prints the variables that ranks need"
    )]
    NoLauncher { source: TunerError },
    #[error("the command does not begin with a launcher: {source}")]
    #[kind(Environment)]
    #[help(
        "start ranks with a launcher, as in `colltune record -- mpirun -n 4 PROGRAM`; for other launchers and scripts \
         `colltune record --print-environment` prints the variables that ranks need"
    )]
    NoLauncherToRecord { source: TunerError },
    #[error("the MPI library of the program is not known")]
    #[kind(Environment)]
    #[help("name it with `--library`, as in `--library openmpi-4.1.4`")]
    UnknownLibrary,
    /// A file that is no profile; the others have been added up.
    #[error("{}: {source}{}", path.display(), others_clause(*others))]
    #[kind(Input)]
    #[help(
        if matches!(source, UnreadableReason::Profile(ProfileError::Version { .. })),
        "read it with the colltune that wrote it, or a later one"
    )]
    #[help(
        if matches!(source, UnreadableReason::Profile(_)),
        "leave it out, or record again: `colltune record` and programs with COLLTUNE_RECORD write profiles"
    )]
    Profile {
        path: PathBuf,
        source: UnreadableReason,
        /// The number of further files that cannot be read.
        others: usize,
    },
    /// A line about a job that cannot be read; the others have been added up.
    #[error("{}: line {line}: {source}{}", path.display(), other_lines_clause(*others))]
    #[kind(Input)]
    #[help(
        if is_of_later(source),
        "read it with the colltune that wrote it, or a later one"
    )]
    #[help(
        "delete the line: a full disk, or several hosts that write to one file on a network file system, tear lines"
    )]
    UsageLine {
        path: PathBuf,
        line: u64,
        source: UsageError,
        /// The number of further lines that cannot be read.
        others: u64,
    },
    /// Files of two kinds, which do not add up.
    #[error(
        "{} is a profile, and {} has lines about jobs: they do not add up",
        profile.display(),
        lines.display()
    )]
    #[kind(Input)]
    #[help("give the files of one kind, as in `colltune profile FOLDER/*.jsonl`")]
    TwoKindsOfProfiles { profile: PathBuf, lines: PathBuf },
    #[error("the profile has no blocking calls that a table could serve")]
    #[kind(Input)]
    #[help(
        "tables serve blocking collectives on communicators with the same number of ranks on each node; `colltune profile` \
         shows what the program calls"
    )]
    NothingServed,
    #[error("no job in the profiles was recorded with {library}, which {} is for", table.display())]
    #[kind(Input)]
    #[help(
        "record the program with {library}, or give a table that was measured with the library of the profiles"
    )]
    NoJobOfLibrary { table: PathBuf, library: Library },
    #[error(
        "{name} is of {jobs} jobs: to compare jobs without and with the table, each needs a profile of its own"
    )]
    #[kind(Input)]
    #[help("record each job into a file of its own, as `colltune record --output FOLDER` does")]
    SeveralJobs { name: String, jobs: usize },
    #[error(
        "there are profiles of {} without the table (--profile) and of {} with it (--measured), and these are compared in pairs",
        format_counted(*without, "job"),
        format_counted(*with, "job")
    )]
    #[kind(Input)]
    #[help(
        "record the program as often with the table as without, in turns, and name the profiles of both"
    )]
    UnpairedJobs { without: usize, with: usize },
    #[error("there are no profiles and no lines about jobs in {}", folder.display())]
    #[kind(Input)]
    #[help(
        "`colltune record --output FOLDER` and COLLTUNE_RECORD=FOLDER write files that end with `.json` there, \
         COLLTUNE_USAGE=FOLDER those that end with `.jsonl`"
    )]
    NoProfiles { folder: PathBuf },
    #[error(
        "there is no libcolltune.so for {library}; searched for {}",
        join_paths(searched)
    )]
    #[kind(Environment)]
    #[help("`make driver MPICC=...` builds it, with the measuring program")]
    NoPreload {
        library: Library,
        searched: Vec<PathBuf>,
    },
    /// A command that cannot be split into words.
    #[error("`--command` cannot be split into words: {source}")]
    #[kind(Input)]
    #[help("close all quotes in it; no shell runs it: for pipes and variables use `sh -c '...'`")]
    CommandWords { source: shell_words::ParseError },
    #[error("`--command` has no words")]
    #[kind(Input)]
    #[help("give a launcher and a program, as in --command 'mpirun -n 4 ./solver'")]
    NoCommand,
    /// A program's output without the figure that is to be compared.
    #[error("the output of the program has no figure for `{pattern}`: {problem}")]
    #[kind(Input)]
    #[help(
        "the regular expression of `--figure` must match a line of standard output, with the number as its first group"
    )]
    NoFigure { pattern: String, problem: String },
    /// A launcher that a program calls cannot be started with the table.
    #[error("a launcher that the program calls could not be started with the table: {message}")]
    #[kind(Environment)]
    #[help(
        "the program must use the library that the table was made for, and a launcher that `colltune run` knows"
    )]
    LauncherRefused { message: String },
    #[error("cannot start {}: {source}", command.display())]
    #[kind(Environment)]
    Command { command: PathBuf, source: io::Error },
    #[error("{} already exists", path.display())]
    #[kind(Input)]
    #[help("name another file with `--output`, or replace it with `--force`")]
    Exists { path: PathBuf },
    #[error("only batch jobs continue without colltune, and this campaign submits none")]
    #[kind(Input)]
    #[help("leave `--detach` out, or name a `launcher: {{slurm: ...}}` in the campaign")]
    NotDetachable,
    #[error("there is no job {id}{}", searched_folders_clause(searched))]
    #[kind(Input)]
    #[help(
        "`colltune jobs` lists the jobs of campaigns in this folder; name campaigns with an `output.store` elsewhere \
         by their files"
    )]
    UnknownJob {
        id: String,
        /// The folders of launches that were searched.
        searched: Vec<PathBuf>,
    },
    #[error("{} is {found}, where {expected} is expected", path.display())]
    #[kind(Input)]
    #[help(if *expected == CAMPAIGN, "`colltune init` writes a campaign")]
    #[help(if *expected == MACHINE, "tuning/machines/reference.yaml is a machine")]
    #[help("`colltune tune` writes a decision table")]
    OtherKind {
        path: PathBuf,
        found: &'static str,
        expected: &'static str,
    },
    #[error("{} is given twice", path.display())]
    #[kind(Input)]
    #[help("name each store once: its repetitions would be there twice")]
    StoreTwice { path: PathBuf },
    #[error("this format is binary, and standard output is a terminal")]
    #[kind(Input)]
    #[help("name a file with `--output`, or send the output to a program or a file")]
    BinaryToTerminal,
    /// A data frame of samples that cannot be made.
    #[error(transparent)]
    #[kind(if matches!(_0, FrameError::Interrupted), Interrupted)]
    #[kind(Internal)]
    Frame(FrameError),
    #[error("cannot catch interrupts: {0}")]
    #[kind(Environment)]
    Signals(#[source] io::Error),
    /// A report for continuous integration that cannot be written as XML.
    #[error(transparent)]
    #[kind(Internal)]
    Junit(#[from] quick_junit::SerializeError),
    #[error("cannot write to standard output: {0}")]
    #[kind(Input)]
    Output(#[source] io::Error),
    #[error("`{}` is not UTF-8, so JSON cannot contain it", name.display())]
    #[kind(Input)]
    #[help("leave out `--json`, or give the file another name")]
    NoNameInJson { name: OsString },
    #[error("cannot write the result as JSON: {0}")]
    #[kind(Internal)]
    Json(#[source] serde_json::Error),
}

impl CliError {
    /// A remedy, if the message does not say it already: beside the variant, or for the file that cannot be read.
    pub(crate) fn help(&self) -> Option<String> {
        let own = self.own_help();
        own.or_else(|| files::remedy_for(self).map(str::to_owned))
    }

    /// The mistake in a file that a person wrote.
    pub(crate) fn diagnostic(&self) -> Option<&Diagnostic> {
        match self {
            Self::Tuner(error) => Some(mistake_in_file(error)?.diagnostic),
            _ => None,
        }
    }
}

impl From<DeployError> for CliError {
    fn from(error: DeployError) -> Self {
        match error {
            DeployError::Export(error) => error.into(),
            other => Self::Deploy(other),
        }
    }
}

impl From<GuardError> for CliError {
    fn from(error: GuardError) -> Self {
        match error {
            GuardError::Tuner(error) => Self::Tuner(*error),
            GuardError::Export(error) => error.into(),
            other => Self::Guard(other),
        }
    }
}

impl From<ServiceError> for CliError {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::Deploy(error) => error.into(),
            other => Self::Service(other),
        }
    }
}

impl From<TunerError> for CliError {
    fn from(error: TunerError) -> Self {
        other_kind_error(&error).unwrap_or_else(|| Self::Tuner(error))
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        TunerError::from(error).into()
    }
}

impl From<FrameError> for CliError {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::Store(error) => error.into(),
            FrameError::Output(error) => Self::Output(error),
            other => Self::Frame(other),
        }
    }
}

impl From<TableError> for CliError {
    fn from(error: TableError) -> Self {
        TunerError::from(error).into()
    }
}

const CAMPAIGN: &str = "a campaign";
const MACHINE: &str = "a machine";
const TABLE: &str = "a decision table";

/// A mistake in a file.
struct FileMistake<'e> {
    diagnostic: &'e Diagnostic,
    /// The kind of file that was expected.
    expected: &'static str,
}

fn mistake_in_file(error: &TunerError) -> Option<FileMistake<'_>> {
    let (diagnostic, expected): (&Diagnostic, _) = match error {
        TunerError::Campaign(CampaignError::Invalid(mistake)) => (mistake, CAMPAIGN),
        TunerError::Machine(MachineError::File(mistake)) => (mistake, MACHINE),
        TunerError::Table(TableError::Invalid(mistake)) => (mistake, TABLE),
        _ => return None,
    };
    Some(FileMistake {
        diagnostic,
        expected,
    })
}

/// The error about a file that is valid as a file of another kind.
fn other_kind_error(error: &TunerError) -> Option<CliError> {
    let FileMistake {
        diagnostic,
        expected,
    } = mistake_in_file(error)?;
    let path = &diagnostic.path;
    let found = if Table::load(path).is_ok() {
        TABLE
    } else if Campaign::load(path).is_ok() {
        CAMPAIGN
    } else {
        load_machine(Some(path)).ok().map(|_| MACHINE)?
    };
    (found != expected).then(|| CliError::OtherKind {
        path: path.clone(),
        found,
        expected,
    })
}

/// A remedy if a campaign or a table was given in place of a store: the name of its store.
fn not_a_store_help(error: &TunerError) -> Option<String> {
    let TunerError::Store(StoreError::NotAStore { path, .. }) = error else {
        return None;
    };
    if let Ok(campaign) = Campaign::load(path) {
        let (path, store) = (path.display(), campaign.output.store.display());
        return Some(format!(
            "{path} is a campaign; its store is {store}, which `colltune measure {path}` fills"
        ));
    }
    let table = Table::load(path).ok()?;
    let (path, store) = (path.display(), &table.provenance.store);
    Some(format!(
        "{path} is a table; it was made from the store {store}"
    ))
}

/// The text of one of clap's errors.
struct UsageText {
    message: String,
    /// The remedy.
    help: String,
}

/// The message and the remedy in clap's text, each on one line.
fn split_usage_error(error: &clap::Error) -> UsageText {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let (message, help) = text.split_once("\n\n").unwrap_or((text, ""));
    let on_one_line = |part: &str| part.split_whitespace().collect::<Vec<_>>().join(" ");
    UsageText {
        message: on_one_line(message),
        help: on_one_line(help),
    }
}

/// The remedy in clap's text, if it has one.
fn usage_help(error: &clap::Error) -> Option<String> {
    let help = split_usage_error(error).help;
    Some(help).filter(|help| !help.is_empty())
}

/// The number of further lines that cannot be read, as a clause.
fn other_lines_clause(others: u64) -> String {
    match others {
        0 => String::new(),
        1 => "; another line cannot be read either".to_owned(),
        _ => format!("; {others} more lines cannot be read either"),
    }
}

/// The end of a message about the first of several files.
fn others_clause(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => "; another file cannot be read either".to_owned(),
        _ => format!("; {others} more files cannot be read either"),
    }
}

fn join_collectives(collectives: &BTreeSet<Collective>) -> String {
    let names: Vec<String> = collectives.iter().map(ToString::to_string).collect();
    names.join(", ")
}

/// A clause about the table that stays after a failed pull.
fn kept_table_clause(table: Option<&Path>) -> String {
    match table {
        Some(table) => format!("{} stays", table.display()),
        None => "there is no earlier table".to_owned(),
    }
}

/// The end of a sentence about a job that was not found.
fn searched_folders_clause(folders: &[PathBuf]) -> String {
    match folders {
        [] => ": no job was submitted here".to_owned(),
        searched => format!(" in {}", join_paths(searched)),
    }
}

fn join_paths(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    paths.join(", ")
}

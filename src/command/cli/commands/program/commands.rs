//! The commands that run a program without and with a table.

use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use environment::force::Force;
use guard::{Activation, ProgramVariant};
use launcher::{BATCH_SYSTEMS, CommandLine, LaunchError, PRELOADING, Refusal};
use table::{Deployment, Policy, Table};
use tempfile::TempDir;
use tuner::TunerError;
use vocabulary::{Library, quote_for_shell};

use super::super::campaign::search_paths;
use super::super::guarded::TableArgs;
use super::super::preload::{
    RankSettings, absolute_path, find_preload_library, preloaded_by_others,
};
use super::{CliError, Console};

/// The commands, and the files that they need.
pub(super) struct ProgramCommands {
    /// The program's library.
    pub(super) library: Library,
    /// The file to which the first rank writes a summary of its calls, if libcolltune.so carries them out.
    pub(super) log: Option<PathBuf>,
    program: Program,
    with_table: WithTable,
    /// Holds the table as the program reads it, beside the table, in a folder that all hosts can see.
    _folder: TempDir,
}

/// What the user wants to run.
enum Program {
    /// A launcher with its ranks.
    Launcher(CommandLine),
    /// Another program, which may call launchers.
    Other(Vec<OsString>),
}

/// How the program is made to use the table.
enum WithTable {
    /// Variables for the ranks of a launcher.
    Ranks(Vec<(&'static str, OsString)>),
    /// Variables for the whole program.
    Environment(Vec<(OsString, OsString)>),
}

impl ProgramCommands {
    /// Prepares what the program needs to use a table.
    pub(super) fn prepare(
        command: &str,
        table: &Table,
        policy: Policy,
        args: &TableArgs,
        console: Console,
    ) -> Result<Self, CliError> {
        let words =
            shell_words::split(command).map_err(|source| CliError::CommandWords { source })?;
        let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
        let program = Program::parse(words)?;
        let of_table = || table.provenance.library.clone();
        let library = program.library().unwrap_or_else(of_table);
        check_library(table, &library, args)?;
        let beside = absolute_path(&args.path).with_file_name("");
        let mut builder = tempfile::Builder::new();
        // Ranks of other users' jobs must not read it, but the job's own may be on any host.
        builder.prefix(".colltune-program-");
        let folder = builder.tempdir_in(&beside).map_err(|source| {
            CliError::from(TunerError::File {
                action: "write a folder to",
                path: beside.clone(),
                source,
            })
        })?;
        let (with_table, log) = match args.deployment {
            Deployment::Library => {
                let assume_commutative = false;
                let activation = Activation::from_exported_table(
                    table,
                    &library,
                    folder.path(),
                    assume_commutative,
                    policy,
                    &search_paths().path,
                )?;
                for note in &activation.notes {
                    console.warn(note);
                }
                (WithTable::Environment(activation.environment), None)
            }
            Deployment::Colltune => {
                let log = folder.path().join("calls.txt");
                let copy = folder.path().join("table.yaml");
                tuner::write_text(&copy, &table.to_yaml())?;
                let settings = RankSettings {
                    preloaded: &find_preload_library(&library)?,
                    table: &copy,
                    log: &log,
                    force: forced_differences(args),
                    reload: false,
                    policy,
                };
                let with_table = match &program {
                    Program::Launcher(line) => WithTable::Ranks(settings.variables(Some(line))),
                    Program::Other(_) => {
                        let shims = folder.path().join("launchers");
                        let path = write_launchers(&shims, &settings, &library)?;
                        WithTable::Environment(vec![("PATH".into(), path)])
                    }
                };
                (with_table, Some(log))
            }
        };
        Ok(Self {
            library,
            log,
            program,
            with_table,
            _folder: folder,
        })
    }

    /// The command for a run.
    pub(super) fn make_command(&self, variant: ProgramVariant) -> Result<Command, CliError> {
        let of_ranks = match &self.with_table {
            WithTable::Ranks(variables) if variant == ProgramVariant::With => &variables[..],
            _ => &[],
        };
        let mut command = match &self.program {
            Program::Launcher(line) => line.with_variables(of_ranks).map_err(TunerError::from)?,
            Program::Other(words) => {
                let (first, rest) = words.split_first().unwrap_or((&EMPTY, &[]));
                let mut command = Command::new(first);
                command.args(rest);
                command
            }
        };
        // A table that the site or the user has put in place would count in both kinds of runs.
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"COLLTUNE_TABLE") {
                command.env_remove(name);
            }
        }
        match preloaded_by_others() {
            Some(others) => command.env(PRELOADING, others),
            None => command.env_remove(PRELOADING),
        };
        if let WithTable::Environment(variables) = &self.with_table
            && variant == ProgramVariant::With
        {
            command.envs(variables.iter().map(|(name, value)| (name, value)));
        }
        Ok(command)
    }

    /// The error of a program that cannot be started or read from.
    pub(super) fn start_error(&self, source: io::Error) -> CliError {
        let command = match &self.program {
            Program::Launcher(line) => line.launcher().to_owned(),
            Program::Other(words) => words.first().map(PathBuf::from).unwrap_or_default(),
        };
        CliError::Command { command, source }
    }
}

static EMPTY: OsString = OsString::new();

impl Program {
    fn parse(words: Vec<OsString>) -> Result<Self, CliError> {
        if words.is_empty() {
            return Err(CliError::NoCommand);
        }
        match CommandLine::from_words(&words, &search_paths().path) {
            Ok(line) => Ok(Self::Launcher(line)),
            // Its name is not that of a launcher.
            Err(LaunchError::Unusable {
                reason: Refusal::Name,
                ..
            }) => Ok(Self::Other(words)),
            Err(source) => Err(CliError::NoLauncher {
                source: source.into(),
            }),
        }
    }

    fn library(&self) -> Option<Library> {
        match self {
            Self::Launcher(line) => line.library(),
            Self::Other(_) => None,
        }
    }
}

/// Refuses a table that was made for another library than the program's.
fn check_library(table: &Table, library: &Library, args: &TableArgs) -> Result<(), CliError> {
    let made_for = &table.provenance.library;
    let is_accepted = made_for == library || args.any_version && made_for.name == library.name;
    if is_accepted {
        return Ok(());
    }
    Err(CliError::OtherLibrary {
        table: args.path.clone(),
        made_for: made_for.clone(),
        library: library.clone(),
    })
}

fn forced_differences(args: &TableArgs) -> Force {
    let mut force = Force::default();
    force.version = args.any_version;
    force
}

/// Writes programs with the names of launchers to a folder: each starts the launcher of that name with the table.
/// Returns the value of `$PATH` with which they are found first.
fn write_launchers(
    folder: &Path,
    settings: &RankSettings<'_>,
    library: &Library,
) -> Result<OsString, CliError> {
    let places = search_paths();
    let fail = |path: &Path, source| TunerError::File {
        action: "write",
        path: path.to_owned(),
        source,
    };
    fs::create_dir(folder).map_err(|source| fail(folder, source))?;
    // Each starts `colltune run`, which knows how to set variables for ranks alone.
    let mut options = format!(
        "--quiet --log {} --library {library}",
        quote_for_shell(&settings.log.to_string_lossy())
    );
    if settings.policy.unconfirmed {
        options += " --unconfirmed";
    }
    if let Some(least) = settings.policy.min_confidence {
        let _ = write!(options, " --min-confidence {least}");
    }
    if settings.force.version {
        options += " --force=version";
    }
    let colltune = quote_for_shell(&places.executable.to_string_lossy());
    let table = quote_for_shell(&settings.table.to_string_lossy());
    let before = quote_for_shell(&places.path.to_string_lossy());
    for name in launcher_names(&places.path) {
        let script = format!(
            "#!/bin/sh\nPATH={before}\nexport PATH\nexec {colltune} run {table} {options} -- {name} \"$@\"\n"
        );
        let path = folder.join(name);
        tuner::write_text(&path, &script)?;
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&path, executable).map_err(|source| fail(&path, source))?;
    }
    let mut folders = vec![folder.to_owned()];
    folders.extend(std::env::split_paths(&places.path));
    std::env::join_paths(folders).map_err(|_| {
        CliError::from(TunerError::File {
            action: "put into `$PATH`",
            path: folder.to_owned(),
            source: io::ErrorKind::InvalidInput.into(),
        })
    })
}

/// The names of the launchers in the folders of `path`.
fn launcher_names(path: &std::ffi::OsStr) -> Vec<String> {
    let mut names = Vec::new();
    for folder in std::env::split_paths(path) {
        let Ok(entries) = fs::read_dir(folder) else {
            continue;
        };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let steps = BATCH_SYSTEMS
                .iter()
                .filter_map(|system| system.words().step);
            if (libraries::is_launcher(&name) || steps.into_iter().any(|step| step == name))
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
    }
    names
}

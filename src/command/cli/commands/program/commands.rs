//! The commands that run a program without and with a table.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
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
use super::super::preload::{
    RankSettings, absolute_path, choose_library, find_preload_library, without_own_library,
};
use super::{CliError, Console};

/// The table that a program uses.
pub(super) struct UsedTable<'a> {
    /// With all verdicts about it.
    pub(super) table: &'a Table,
    /// Its file.
    pub(super) path: &'a Path,
    /// How the program gets it.
    pub(super) deployment: Deployment,
    /// The rules that are used.
    pub(super) policy: Policy,
    /// Whether the exported table is for programs without noncommutative operators.
    pub(super) assume_commutative: bool,
    /// Whether it is also used with another version of the library.
    pub(super) any_version: bool,
}

/// The commands, and the files that they need.
pub(super) struct ProgramCommands {
    /// The program's library.
    pub(super) library: Library,
    /// The file to which the first rank writes a summary of its calls, if libcolltune.so carries them out.
    pub(super) log: Option<PathBuf>,
    program: Program,
    with_table: WithTable,
    /// Holds the table as the program reads it.
    folder: TempDir,
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

/// Variables of libcolltune.so that a job may have from the site: with them a run without the table would have one, and a
/// run with it another; and the runs would count in the site's accounting.
const OF_OTHER_TABLES: [&str; 11] = [
    "COLLTUNE_TABLE",
    "COLLTUNE_LOG",
    "COLLTUNE_DISABLE",
    "COLLTUNE_FORCE",
    "COLLTUNE_RELOAD",
    "COLLTUNE_UNCONFIRMED",
    "COLLTUNE_EXTRAPOLATE",
    "COLLTUNE_MIN_CONFIDENCE",
    "COLLTUNE_NUMERICS",
    "COLLTUNE_RECORD",
    "COLLTUNE_USAGE",
];

/// Names the script of a deployed version that starts a program with its table. `env` starts one without.
const STARTS_WITH_TABLE: &str = "COLLTUNE_WITH_TABLE";

/// The file that says that colltune refused to start a launcher.
const REFUSAL: &str = "refused";

/// Splits a command into words, as a shell would do it.
pub(super) fn split_words(command: &str) -> Result<Vec<OsString>, CliError> {
    let words = shell_words::split(command).map_err(|source| CliError::CommandWords { source })?;
    if words.is_empty() {
        return Err(CliError::NoCommand);
    }
    Ok(words.into_iter().map(OsString::from).collect())
}

impl ProgramCommands {
    /// Prepares what the program with these words needs to use a table.
    pub(super) fn prepare(
        words: Vec<OsString>,
        used: &UsedTable<'_>,
        console: Console,
    ) -> Result<Self, CliError> {
        let program = Program::parse(words)?;
        let made_for = &used.table.provenance.library;
        let library =
            choose_library(Some(made_for), program.library()).unwrap_or_else(|| made_for.clone());
        used.check_library(&library)?;
        let folder = used.create_folder()?;
        let (with_table, log) = match used.deployment {
            Deployment::Library => {
                let activation = Activation::from_exported_table(
                    used.table,
                    &library,
                    folder.path(),
                    used.assume_commutative,
                    used.policy,
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
                tuner::write_text(&copy, &used.table.to_yaml())?;
                let force = Force {
                    version: used.any_version,
                    ..Force::default()
                };
                let settings = RankSettings {
                    preloaded: &find_preload_library(&library)?,
                    table: &copy,
                    log: &log,
                    force,
                    reload: false,
                    policy: used.policy,
                };
                let with_table = match &program {
                    Program::Launcher(line) => WithTable::Ranks(settings.variables(Some(line))),
                    Program::Other(_) => {
                        let path = write_launchers(folder.path(), &settings, &library)?;
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
            folder,
        })
    }

    /// The command for a run. Both kinds of runs have the same environment, apart from the table.
    pub(super) fn make_command(&self, variant: ProgramVariant) -> Result<Command, CliError> {
        let of_ranks = match &self.with_table {
            WithTable::Ranks(variables) if variant == ProgramVariant::With => &variables[..],
            _ => &[],
        };
        let mut command = match &self.program {
            Program::Launcher(line) => line.with_variables(of_ranks).map_err(TunerError::from)?,
            Program::Other(words) => {
                let mut words = words.iter();
                let mut command = Command::new(words.next().map_or(OsStr::new(""), OsStr::new));
                command.args(words);
                command
            }
        };
        // What the command line sets itself, or what is set for its ranks, stays.
        let own: Vec<OsString> = command
            .get_envs()
            .map(|(name, _)| name.to_owned())
            .collect();
        for name in OF_OTHER_TABLES {
            if !own.iter().any(|set| set == name) {
                command.env_remove(name);
            }
        }
        if std::env::var_os(STARTS_WITH_TABLE).is_some() {
            command.env(STARTS_WITH_TABLE, "env");
        }
        let preloaded = match &self.program {
            Program::Launcher(line) => line.variable(PRELOADING),
            Program::Other(_) => std::env::var_os(PRELOADING),
        };
        match preloaded.and_then(|list| without_own_library(&list)) {
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

    /// Whether colltune refused to start a launcher that the program called, which is then forgotten.
    pub(super) fn take_refusal(&self) -> bool {
        fs::remove_file(self.folder.path().join(REFUSAL)).is_ok()
    }
}

impl UsedTable<'_> {
    /// Refuses a table that was made for another library than the program's.
    fn check_library(&self, library: &Library) -> Result<(), CliError> {
        let made_for = &self.table.provenance.library;
        if made_for == library || self.any_version && made_for.name == library.name {
            return Ok(());
        }
        Err(CliError::OtherLibrary {
            table: self.path.to_owned(),
            made_for: made_for.clone(),
            library: library.clone(),
        })
    }

    /// A folder for files that ranks on all hosts read: beside the table, or else in the working directory. Only this
    /// user may read and write it, since launchers are started from it.
    fn create_folder(&self) -> Result<TempDir, CliError> {
        let create_in = |place: &Path| {
            let mut builder = tempfile::Builder::new();
            builder
                .prefix(".colltune-program-")
                .permissions(fs::Permissions::from_mode(0o700))
                .tempdir_in(place)
        };
        let beside = absolute_path(self.path).with_file_name("");
        let here = absolute_path(Path::new("."));
        let folder = create_in(&beside).or_else(|_| create_in(&here));
        folder.map_err(|source| {
            CliError::from(TunerError::File {
                action: "write a folder to",
                path: here,
                source,
            })
        })
    }
}

impl Program {
    fn parse(words: Vec<OsString>) -> Result<Self, CliError> {
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

/// Writes programs with the names of launchers to a folder below `folder`: each starts the launcher of that name with the
/// table. Returns the value of `$PATH` with which they are found first.
fn write_launchers(
    folder: &Path,
    settings: &RankSettings<'_>,
    library: &Library,
) -> Result<OsString, CliError> {
    let places = search_paths();
    let launchers = folder.join("launchers");
    let fail = |path: &Path, source| TunerError::File {
        action: "write",
        path: path.to_owned(),
        source,
    };
    fs::create_dir(&launchers).map_err(|source| fail(&launchers, source))?;
    // Each starts `colltune run`, which knows how to set variables for ranks alone.
    let quote = |path: &Path| quote_for_shell(&path.to_string_lossy());
    let mut options = format!("--quiet --log {} --library {library}", quote(settings.log));
    if settings.policy.unconfirmed {
        options += " --unconfirmed";
    }
    if let Some(least) = settings.policy.min_confidence {
        let _ = write!(options, " --min-confidence {least}");
    }
    if let Some(numerics) = settings.policy.numerics {
        let _ = write!(options, " --numerics {numerics}");
    }
    if settings.force.version {
        options += " --force=version";
    }
    let (colltune, table) = (quote(&places.executable), quote(settings.table));
    let (own, log) = (quote(&launchers), quote(settings.log));
    let refusal = quote(&folder.join(REFUSAL));
    for name in launcher_names(&places.path) {
        // The launcher and its ranks get the script's own `$PATH`. A launcher that `colltune run` refuses leaves no summary.
        let script = format!(
            "#!/bin/sh\n\
             own={own}\n\
             others=\n\
             set -f\n\
             IFS=:\n\
             for folder in $PATH; do\n    \
                 [ \"$folder\" = \"$own\" ] || others=$others${{others:+:}}$folder\n\
             done\n\
             unset IFS\n\
             PATH=$others\n\
             export PATH\n\
             {colltune} run {table} {options} -- {name} \"$@\"\n\
             code=$?\n\
             [ -e {log} ] || : >{refusal}\n\
             exit $code\n"
        );
        let path = launchers.join(name);
        tuner::write_text(&path, &script)?;
        let executable = fs::Permissions::from_mode(0o700);
        fs::set_permissions(&path, executable).map_err(|source| fail(&path, source))?;
    }
    let mut folders = vec![launchers.clone()];
    folders.extend(std::env::split_paths(&places.path));
    std::env::join_paths(folders).map_err(|_| {
        CliError::from(TunerError::File {
            action: "put into `$PATH`",
            path: launchers,
            source: io::ErrorKind::InvalidInput.into(),
        })
    })
}

/// The names of the launchers in the folders of `path`.
fn launcher_names(path: &OsStr) -> BTreeSet<String> {
    let steps: Vec<&str> = BATCH_SYSTEMS
        .iter()
        .filter_map(|system| system.words().step)
        .collect();
    let folders = std::env::split_paths(path);
    let entries = folders
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten();
    let names = entries.flatten().map(|entry| entry.file_name());
    names
        .filter_map(|name| name.into_string().ok())
        .filter(|name| libraries::is_launcher(name) || steps.contains(&name.as_str()))
        .collect()
}

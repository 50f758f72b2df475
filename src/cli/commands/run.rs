use std::ffi::OsString;
use std::path::{Path, PathBuf};

use client::Folder;
use launcher::{CommandLine, PRELOADING, driver_directories};
use table::{Deployment, Policy, Table};
use tuner::TunerError;
use vocabulary::{Library, quote};

use super::connection::ConnectionArgs;
use super::policy::PolicyArgs;
use super::pull::of_channel;
use super::supervised::{code, supervised};
use super::workplace::places;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Answer;
use crate::values;

/// Run an unmodified MPI program with a table at work
///
/// Starts the command with libcolltune.so preloaded into its ranks, and into nothing else: colltune adds options
/// to the launcher's command line that set LD_PRELOAD, COLLTUNE_TABLE and COLLTUNE_LOG for the ranks: mpirun's of
/// Open MPI, mpiexec's of MPICH or Slurm's srun, perhaps behind `env NAME=VALUE`. At the end it prints what
/// carried out the first rank's calls, how long they took and which gain the table expects of them, or that no
/// call was seen.
///
/// Only confirmed rules of medium confidence or more are used, on communicators of the shapes that were measured;
/// all else is left to the library's default. The summary counts calls by what carried them out, and the rules
/// that are not used, with the reason. The expected gain is the table's promise: what the default would have taken
/// for the same calls is not measured, since each call is carried out in one way.
///
/// Ranks see the table if its folder is on all hosts.
///
/// For other launchers and scripts, --print-environment prints the variables as a shell exports them, and
/// starts nothing. Preload into the ranks alone, as in the last example, where LAUNCHER may be `srun
/// --mpi=pmi2` or a site's own script.
///
/// Exits with the exit code of the command, or with 128 and the number of the signal that ended it.
/// colltune's own failures, with 2, 3 or 4 as everywhere, come before anything is started, and print a
/// line that begins with `error:`. SIGTERM and SIGHUP go on to the command.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The table that decides, or a folder of releases, of `colltune deploy` or of `colltune pull`
    ///
    /// If the folder has a link `current`, the version that is current now is used for the whole job. The
    /// folder of a version can be named too.
    #[arg(
        value_name = "TABLE.yaml",
        required_unless_present = "channel",
        conflicts_with = "channel"
    )]
    table: Option<PathBuf>,
    /// Use the table that a service has released to the channel with this URL
    ///
    /// It is pulled once, into .colltune/channels of the working directory, and all ranks get the path of this very
    /// table, whatever is released meanwhile. If the service is away, the table that was pulled last is used, with a
    /// warning.
    #[arg(long, value_name = "URL")]
    channel: Option<String>,
    #[command(flatten)]
    connection: ConnectionArgs,
    /// Keep the summary in this file, which is replaced when the program has ended
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Use a table that was made for another library, version or CPU
    #[arg(long)]
    force: bool,
    /// Look at the table again for each communicator that the program makes
    #[arg(long)]
    reload: bool,
    #[command(flatten)]
    policy: PolicyArgs,
    /// The MPI library of the program, where the launcher does not tell it; by default the table's
    #[arg(long, value_name = "NAME-VERSION", value_parser = values::library)]
    library: Option<Library>,
    /// Print the variables as lines of a shell script, and start nothing
    #[arg(long, conflicts_with = "command")]
    print_environment: bool,
    /// The launcher, its options and the program
    #[arg(
        last = true,
        required_unless_present = "print_environment",
        value_name = "COMMAND"
    )]
    command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  colltune run tables/cluster.yaml -- mpirun -n 64 ./solver input.dat
  colltune run /opt/tables -- mpirun -n 64 ./solver input.dat
  colltune run tables/cluster.yaml --log calls.txt -- mpiexec -n 4 ./solver
  colltune run --channel https://tables.site/machines/cluster/libraries/openmpi-4.1.4/channels/production -- \
    mpirun -n 64 ./solver
  colltune run tables/imported.yaml --unconfirmed --extrapolate -- mpirun -n 6 ./solver
  colltune run tables/cluster.yaml --print-environment > with-table.sh
  LAUNCHER -n 64 sh -c '. ./with-table.sh; exec \"$@\"' sh ./solver input.dat";

/// The warning if no rank has left a summary.
const NOTHING: &str = "nothing was intercepted: the program did not get to MPI_Finalize, is linked statically, or \
                       uses another MPI library.";

impl Args {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let path = self.path(console)?;
        let table = Table::load(&path)?;
        let line = match self.print_environment {
            true => None,
            false => Some(self.line()?),
        };
        let known = line.as_ref().and_then(CommandLine::library);
        let known = known.or_else(|| self.library.clone());
        let library = known.unwrap_or_else(|| table.provenance.library.clone());
        let made_for = &table.provenance.library;
        if *made_for != library && !self.force {
            return Err(CliError::OtherLibrary {
                table: path,
                made_for: made_for.clone(),
                library,
            });
        }
        let preloaded = preloaded(&library)?;
        let log = absolute(&match (&self.log, &line) {
            (Some(log), None) => log.clone(),
            (log, _) => own_log(log.as_deref()),
        });
        self.check_log(&path, line.is_some().then_some(&*log))?;
        if line.is_some() {
            // Another process of this number may have left it.
            let _ = std::fs::remove_file(&log);
        }
        let policy = self.policy.policy();
        let mut variables = vec![
            (PRELOADING, preload_list(&preloaded, line.as_ref())),
            ("COLLTUNE_TABLE", absolute(&path).into()),
            ("COLLTUNE_LOG", log.clone().into()),
            ("COLLTUNE_FORCE", switch(self.force)),
            ("COLLTUNE_RELOAD", switch(self.reload)),
            ("COLLTUNE_UNCONFIRMED", switch(policy.unconfirmed)),
            ("COLLTUNE_EXTRAPOLATE", switch(policy.extrapolate)),
        ];
        if let Some(least) = policy.min_confidence {
            variables.push(("COLLTUNE_MIN_CONFIDENCE", least.to_string().into()));
        }
        if let Some(limit) = std::env::var_os("COLLTUNE_SHARED_MEMORY") {
            variables.push(("COLLTUNE_SHARED_MEMORY", limit));
        }
        warn_if_unused(&path, &table, policy, console);
        let Some(line) = line else {
            return self.print(&preloaded, &variables, console);
        };
        let command = line.with(&variables).map_err(TunerError::from)?;
        let status = supervised(&mut { command }).map_err(|source| CliError::Command {
            command: line.launcher().to_owned(),
            source,
        })?;
        let summary = files::read_text(&log).ok();
        let _ = std::fs::remove_file(&log);
        if let Some(log) = &self.log {
            // What an earlier run has left must not pass for this one's.
            let nothing = format!("colltune: {NOTHING}\n");
            let written = tuner::write(log, summary.as_deref().unwrap_or(&nothing));
            if let Err(error) = written {
                console.warn(error);
            }
        }
        match summary {
            Some(summary) => console.remark(summary.trim_end())?,
            None => console.warn(NOTHING),
        }
        Ok(Answer::Program(code(status)))
    }

    /// The file of the table, which is found out once for all ranks: they must not look at what another release may
    /// change.
    fn path(&self, console: Console) -> Result<PathBuf, CliError> {
        match (&self.table, &self.channel) {
            (Some(folder), _) if folder.is_dir() => match Folder::last_good(folder) {
                Some((_, table)) => Ok(table),
                None => Ok(export::deploy::table_of(folder)?),
            },
            (Some(table), _) if self.reload => Ok(table.clone()),
            (Some(table), _) => Ok(of_release(table).unwrap_or_else(|| behind_links(table))),
            (None, channel) => {
                let url = channel.as_deref().unwrap_or_default();
                of_channel(url, &self.connection, console)
            }
        }
    }

    /// Refuses a summary that would replace what is read, and, if ranks write it to `own` first, one that could not be
    /// written.
    fn check_log(&self, table: &Path, own: Option<&Path>) -> Result<(), TunerError> {
        let Some(log) = self.log.as_deref() else {
            return Ok(());
        };
        let output = [("`--log`", Some(log))];
        let words = self.command.iter().map(Path::new);
        let words = words.filter(|word| word.exists());
        let words = words.map(|word| ("a file of the command", Some(word)));
        let inputs: Vec<_> = [("TABLE.yaml", Some(table))]
            .into_iter()
            .chain(words)
            .collect();
        tuner::keep_apart(&output, &inputs)?;
        let Some(own) = own else {
            return Ok(());
        };
        // A folder that is made here may be missing where the ranks are.
        let folder = own.parent().unwrap_or(own);
        std::fs::metadata(folder).map_err(|source| TunerError::File {
            action: "write",
            path: log.to_owned(),
            source,
        })?;
        tuner::probe(&output)
    }

    /// The command, taken apart.
    fn line(&self) -> Result<CommandLine, CliError> {
        let line = CommandLine::read(&self.command, &places().path);
        line.map_err(|error| CliError::NoLauncher {
            source: Box::new(error.into()),
        })
    }

    /// Prints variables as a shell exports them.
    fn print(
        &self,
        preloaded: &Path,
        variables: &[(&str, OsString)],
        console: Console,
    ) -> Result<Answer, CliError> {
        for (name, value) in variables {
            let value = match *name {
                // What is preloaded anyway is known where the lines are read.
                PRELOADING => {
                    let own = quote(&preloaded.to_string_lossy());
                    format!("{own}\"${{{PRELOADING}:+:${PRELOADING}}}\"")
                }
                "COLLTUNE_LOG" if self.log.is_none() => continue,
                _ => quote(&value.to_string_lossy()),
            };
            console.print(format_args!("export {name}={value}"))?;
        }
        Ok(Answer::Good)
    }
}

/// Warns if the policy deploys no rule of the table.
fn warn_if_unused(path: &Path, table: &Table, policy: Policy, console: Console) {
    let usage = table.usage(policy, Deployment::Colltune);
    if !usage.is_nothing() {
        return;
    }
    let mut remedies = Vec::new();
    if usage.unconfirmed > 0 {
        remedies.push("`colltune validate --confirm` confirms those that hold, --unconfirmed uses unconfirmed rules as well");
    }
    if usage.simulated > 0 {
        remedies.push("--unconfirmed uses simulated rules as well");
    }
    if usage.uncertain > 0 {
        remedies.push("--min-confidence low uses rules of low confidence as well");
    }
    console.warn(format_args!(
        "all collectives are the library's own, as nothing of {} is used: {usage}. {}.",
        path.display(),
        remedies.join("; ")
    ));
}

/// The table of the version that is current now, if the name leads there by the link of a folder of releases.
fn of_release(name: &Path) -> Option<PathBuf> {
    let link = name
        .parent()
        .filter(|_| name.ends_with("current/table.yaml"))?;
    export::deploy::table_of(link).ok()
}

/// The file that a name leads to now. Ranks begin at different times, and a link may change in between. What stands
/// before the last part of the name may be another folder on other hosts, and stays.
fn behind_links(name: &Path) -> PathBuf {
    const MOST: usize = 40;
    let mut name = name.to_owned();
    for _ in 0..MOST {
        let next = std::fs::read_link(&name).map(|target| name.with_file_name("").join(target));
        match next {
            // What is not a file is refused, by the name that was given.
            Ok(next) if next.is_file() => name = next,
            _ => break,
        }
    }
    name
}

/// The file in which the first rank writes its summary: beside `log`, in a folder that hosts may share, or here.
fn own_log(log: Option<&Path>) -> PathBuf {
    let name = format!(".colltune-run-{}.log", std::process::id());
    match log.filter(|log| !files::is_special(log)) {
        Some(log) => log.with_file_name(name),
        None => name.into(),
    }
}

/// The path of `libcolltune.so` for programs of a library.
pub(super) fn preloaded(library: &Library) -> Result<PathBuf, CliError> {
    let places = places();
    let folders = driver_directories(places.libdir.as_deref(), &places.executable);
    launcher::find_preloaded(library, &folders).map_err(|searched| CliError::NoPreload {
        library: library.clone(),
        searched,
    })
}

fn switch(on: bool) -> OsString {
    if on { "1" } else { "0" }.into()
}

/// Ranks may stand in other folders.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The value of [`PRELOADING`]: ours, then what is preloaded anyway.
fn preload_list(ours: &Path, line: Option<&CommandLine>) -> OsString {
    let mut list = ours.as_os_str().to_owned();
    let others = line.and_then(|line| line.variable(PRELOADING));
    if let Some(others) = others.filter(|others| !others.is_empty()) {
        list.push(":");
        list.push(others);
    }
    list
}

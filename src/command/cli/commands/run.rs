use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use client::Folder;
use environment::force::Force;
use launcher::{CommandLine, PRELOADING};
use table::{Deployment, Policy, Table};
use tuner::TunerError;
use vocabulary::{Library, quote_for_shell};

use super::campaign::search_paths;
use super::connection::ConnectionArgs;
use super::in_force::JudgedTable;
use super::policy::PolicyArgs;
use super::preload::{RankSettings, absolute_path, choose_library, find_preload_library};
use super::pull::pull_for_job;
use super::supervised::{run_supervised, shell_exit_code};
use super::{Answer, CliError, Console};
use crate::values;

/// Run an unmodified MPI program with a table
///
/// Starts the command with libcolltune.so preloaded into its ranks only: colltune adds options to the launcher's
/// command line that set LD_PRELOAD, COLLTUNE_TABLE and COLLTUNE_LOG for the ranks. Launchers are Open MPI's mpirun,
/// MPICH's mpiexec and Slurm's srun, optionally after `env NAME=VALUE`. At the end it prints the candidates that
/// carried out the first rank's calls, their times and the gain that the table expects, or that no call was
/// intercepted.
///
/// Only confirmed rules of medium confidence or more are used, on communicators of measured shapes; the library's
/// default carries out all other calls. The summary counts calls by the candidate that carried them out, and the rules
/// that are not used, with the reason. The expected gain comes from the table's times: the default's time for the same
/// calls is not measured, since each call is carried out only once. Collectives that are not served, such as nonblocking
/// ones, follow with their calls, their time and its share of the time in all collectives.
///
/// The table's folder must be visible on all hosts.
///
/// For other launchers and for scripts, --print-environment prints the variables as shell exports, and starts nothing.
/// Preload the library only into the ranks, as in the last example, where LAUNCHER may be `srun --mpi=pmi2` or a site's
/// own script.
///
/// Exits with the exit code of the command, or with 128 plus the number of the signal that ended it. colltune's own
/// errors, with exit code 2, 3 or 4 as everywhere, occur before anything is started, and print a line that begins with
/// `error:`. SIGTERM and SIGHUP are forwarded to the command.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune run tables/cluster.yaml -- mpirun -n 64 ./solver input.dat
  colltune run /opt/tables -- mpirun -n 64 ./solver input.dat
  colltune run tables/cluster.yaml --log calls.txt -- mpiexec -n 4 ./solver
  colltune run --channel https://tables.site/machines/cluster/libraries/openmpi-4.1.4/channels/production -- \
    mpirun -n 64 ./solver
  colltune run tables/imported.yaml --unconfirmed --extrapolate -- mpirun -n 6 ./solver
  colltune run tables/cluster.yaml --print-environment > with-table.sh
  LAUNCHER -n 64 sh -c '. ./with-table.sh; exec \"$@\"' sh ./solver input.dat")]
pub(crate) struct RunArgs {
    /// The table, or a folder of `colltune deploy` or `colltune pull`
    ///
    /// If the folder has a link `current`, the whole job uses the version that is current at its start. The folder of a
    /// version can be named too.
    #[arg(
        value_name = "TABLE.yaml",
        required_unless_present = "channel",
        conflicts_with = "channel"
    )]
    table: Option<PathBuf>,
    /// Use the table that a service has released to the channel with this URL
    ///
    /// The table is pulled once, into .colltune/channels of the working directory, and all ranks use it, even if
    /// another one is released meanwhile. If the service is unreachable, the table that was pulled last is used, with
    /// a warning.
    #[arg(long, value_name = "URL")]
    channel: Option<String>,
    #[command(flatten)]
    connection: ConnectionArgs,
    /// Write the summary to this file when the program has ended
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Use the table despite differences: `library`, `version`, `cpu`, `networks`, `accelerators`; all without names
    ///
    /// The table may be made for another library, another version of it, another type of CPU or other networks; `accelerators`
    /// also uses it in programs that have loaded a driver of accelerators. Separate several by commas, as in `--force=version,cpu`.
    ///
    /// Two more names are not among all: with `nonblocking`, MPI_Ibcast, MPI_Iallreduce and MPI_Ibarrier follow the rules of
    /// the blocking collectives; with `progress` as well, also under libraries that let no other one make progress, such as
    /// MPICH. The program must then wait only in calls that are given requests (MPI_Wait, MPI_Test and so on) while such a
    /// collective is under way.
    #[arg(
        long,
        value_name = "DIFFERENCES",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "all"
    )]
    force: Option<Force>,
    /// Check the table for changes whenever a communicator is attached
    #[arg(long)]
    reload: bool,
    #[command(flatten)]
    policy: PolicyArgs,
    /// The MPI library of the program, if the launcher does not show it, or if colltune does not know it and the launcher
    /// shows the one that it derives from; by default the table's
    #[arg(long, value_name = "NAME-VERSION", value_parser = values::parse_library)]
    library: Option<Library>,
    /// Print the variables as shell exports, and start nothing
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

/// The warning if no rank has written a summary.
pub(super) const NO_CALL_INTERCEPTED: &str = "no call was intercepted. If no rank has said why, the program did not start MPI, was \
                       ended by a signal, is linked statically, or uses another MPI library.";

impl RunArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let path = self.resolve_table(console)?;
        let judged = JudgedTable::read(&path, None, console)?;
        let table = &judged.table;
        let line = if self.print_environment {
            None
        } else {
            Some(self.parse_command()?)
        };
        let made_for = &table.provenance.library;
        let shown = line.as_ref().and_then(CommandLine::library);
        let named = self.library.as_ref().unwrap_or(made_for);
        let library = choose_library(Some(named), shown).unwrap_or_else(|| made_for.clone());
        let force = self.force.unwrap_or_default();
        let is_forced = if made_for.name == library.name {
            force.version
        } else {
            force.library
        };
        if *made_for != library && !is_forced {
            return Err(CliError::OtherLibrary {
                table: path,
                made_for: made_for.clone(),
                library,
            });
        }
        let preloaded = find_preload_library(&library)?;
        let log = absolute_path(&match (&self.log, &line) {
            (Some(log), None) => log.clone(),
            (log, _) => rank_log_path(log.as_deref()),
        });
        self.check_log(&path, line.is_some().then_some(&*log))?;
        if line.is_some() {
            // An earlier process with the same id may have left it.
            let _ = std::fs::remove_file(&log);
        }
        let policy = self.policy.to_policy();
        let copy = self.copy_with_verdicts(&path, &judged, line.is_some(), console);
        let read_by_ranks = copy.as_ref().map_or(&*path, |copy| &copy.path);
        let settings = RankSettings {
            preloaded: &preloaded,
            table: read_by_ranks,
            log: &log,
            force,
            reload: self.reload,
            policy,
        };
        let mut variables = settings.variables(line.as_ref());
        if line.is_some() {
            variables.extend(variables_about_job());
        }
        warn_if_unused(&path, table, policy, console);
        let Some(line) = line else {
            return self.print_exports(&preloaded, &variables, console);
        };
        let command = line.with_variables(&variables).map_err(TunerError::from)?;
        let status = run_supervised(&mut { command }).map_err(|source| CliError::Command {
            command: line.launcher().to_owned(),
            source,
        })?;
        let summary = files::read_text(&log).ok();
        let _ = std::fs::remove_file(&log);
        if let Some(named_log) = &self.log {
            // The file must not keep the summary of an earlier run.
            let nothing = format!("colltune: {NO_CALL_INTERCEPTED}\n");
            let written = tuner::write_text(named_log, summary.as_deref().unwrap_or(&nothing));
            if let Err(error) = written {
                console.warn(error);
            }
        }
        match summary {
            Some(summary) => console.remark(summary.trim_end())?,
            None => console.warn(NO_CALL_INTERCEPTED),
        }
        Ok(Answer::Program(shell_exit_code(status)))
    }

    /// The file of the table, determined once for all ranks, since another release may change links meanwhile.
    fn resolve_table(&self, console: Console) -> Result<PathBuf, CliError> {
        match (&self.table, &self.channel) {
            (Some(folder), _) if folder.is_dir() => match Folder::last_good(folder) {
                Some((_, table)) => Ok(table),
                None => Ok(export::deploy::table_of(folder)?),
            },
            (Some(table), _) if self.reload => Ok(table.clone()),
            (Some(table), _) => {
                Ok(table_behind_current(table).unwrap_or_else(|| follow_links(table)))
            }
            (None, channel) => {
                let url = channel.as_deref().unwrap_or_default();
                pull_for_job(url, &self.connection, console)
            }
        }
    }

    /// A copy of the table, in its folder, with the verdicts that are in its store alone, since ranks read no stores.
    /// `None` if there are none, and, with a warning, if no program is started now, the program reads the table again,
    /// or the folder cannot be written to.
    fn copy_with_verdicts(
        &self,
        path: &Path,
        judged: &JudgedTable,
        is_started: bool,
        console: Console,
    ) -> Option<TableCopy> {
        if !judged.is_judged_by_store {
            return None;
        }
        let copy = if is_started && !self.reload {
            TableCopy::create_beside(path, &judged.table).map_err(|error| error.to_string())
        } else {
            Err("it reads the table's file".to_owned())
        };
        copy.inspect_err(|why| {
            console.warn(format_args!(
                "verdicts of `validate` in the table's store do not count for the program ({why}): `colltune decide \
                 STORE --output TABLE` makes a table that heeds them."
            ));
        })
        .ok()
    }

    /// Refuses a summary that would replace an input or, if ranks write it to `own` first, that cannot be written.
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
        tuner::check_outputs_differ(&output, &inputs)?;
        let Some(own) = own else {
            return Ok(());
        };
        // A folder that is created here may be missing on the ranks' hosts.
        let folder = own.parent().unwrap_or(own);
        std::fs::metadata(folder).map_err(|source| TunerError::File {
            action: "write",
            path: log.to_owned(),
            source,
        })?;
        tuner::probe_outputs(&output)
    }

    /// The parsed command.
    fn parse_command(&self) -> Result<CommandLine, CliError> {
        let line = CommandLine::from_words(&self.command, &search_paths().path);
        line.map_err(|error| CliError::NoLauncher {
            source: error.into(),
        })
    }

    /// Prints variables as shell exports.
    fn print_exports(
        &self,
        preloaded: &Path,
        variables: &[(&str, OsString)],
        console: Console,
    ) -> Result<Answer, CliError> {
        for (name, value) in variables {
            let value = match *name {
                // Keeps libraries that the shell preloads already.
                PRELOADING => {
                    let own = quote_for_shell(&preloaded.to_string_lossy());
                    format!("{own}\"${{{PRELOADING}:+:${PRELOADING}}}\"")
                }
                "COLLTUNE_LOG" if self.log.is_none() => continue,
                _ => quote_for_shell(&value.to_string_lossy()),
            };
            console.print(format_args!("export {name}={value}"))?;
        }
        Ok(Answer::Good)
    }
}

/// A table that exists while a program runs.
struct TableCopy {
    path: PathBuf,
}

impl TableCopy {
    /// Writes a table beside the file that it was read from, which all hosts can see.
    fn create_beside(beside: &Path, table: &Table) -> io::Result<Self> {
        let name = format!(".colltune-run-{}.yaml", std::process::id());
        let path = beside.with_file_name(name);
        // An earlier process with the same id may have left it.
        let _ = std::fs::remove_file(&path);
        // This does not follow a link that another user may have made under this name.
        let mut file = files::create_new(&path, 0o644)?;
        let copy = Self { path };
        file.write_all(table.to_yaml().as_bytes())?;
        Ok(copy)
    }
}

impl Drop for TableCopy {
    fn drop(&mut self) {
        // The program has ended, whether or not the file can be removed.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The user's variables with the places of a profile and of the line about the job. Launchers may not pass them on to other
/// hosts, and all ranks must have the former.
fn variables_about_job() -> Vec<(&'static str, OsString)> {
    ["COLLTUNE_RECORD", "COLLTUNE_USAGE"]
        .into_iter()
        .filter_map(|name| {
            let place = std::env::var_os(name).filter(|place| !place.is_empty())?;
            Some((name, absolute_path(Path::new(&place)).into()))
        })
        .collect()
}

/// Warns if the policy deploys no rule of the table.
pub(super) fn warn_if_unused(path: &Path, table: &Table, policy: Policy, console: Console) {
    let usage = table.count_usage(policy, Deployment::Colltune);
    if usage.used == 0 && table.count_usage(policy, Deployment::Library).used > 0 {
        console.warn(format_args!(
            "{} has rules for the library's own algorithms only, which `run` leaves to the library: `colltune export` \
             or `colltune deploy` puts them into the library's settings.",
            path.display()
        ));
        return;
    }
    if !usage.is_all_unused() {
        return;
    }
    let mut remedies = Vec::new();
    if usage.refuted > 0 {
        remedies.push("`colltune tune` measures again and chooses others");
    }
    if usage.unconfirmed > 0 {
        remedies.push("`colltune validate --confirm` confirms rules that hold, --unconfirmed also uses unconfirmed rules");
    }
    if usage.simulated > 0 {
        remedies.push("--unconfirmed also uses simulated rules");
    }
    if usage.uncertain > 0 {
        remedies.push("--min-confidence low also uses rules of low confidence");
    }
    if usage.numerics > 0 {
        remedies.push("--numerics none also uses rules whose bits depend on placement or size");
    }
    console.warn(format_args!(
        "no rule of {} is used, so the library carries out all collectives: {usage}. {}.",
        path.display(),
        remedies.join("; ")
    ));
}

/// The table of the current version, if the name leads to it by the link of a folder of releases.
fn table_behind_current(name: &Path) -> Option<PathBuf> {
    let link = name
        .parent()
        .filter(|_| name.ends_with("current/table.yaml"))?;
    export::deploy::table_of(link).ok()
}

/// The file that a name leads to now, since ranks start at different times and a link may change in between. Only
/// links in the last part of the name are followed, since the folders before it may differ on other hosts.
fn follow_links(name: &Path) -> PathBuf {
    const MOST: usize = 40;
    let mut name = name.to_owned();
    for _ in 0..MOST {
        let next = std::fs::read_link(&name).map(|target| name.with_file_name("").join(target));
        match next {
            // Anything but a file is refused later, by the given name.
            Ok(next) if next.is_file() => name = next,
            _ => break,
        }
    }
    name
}

/// The file to which the first rank writes its summary: beside `log`, whose folder hosts may share, or in the working
/// directory.
fn rank_log_path(log: Option<&Path>) -> PathBuf {
    let name = format!(".colltune-run-{}.log", std::process::id());
    match log.filter(|log| !files::is_special(log)) {
        Some(log) => log.with_file_name(name),
        None => name.into(),
    }
}

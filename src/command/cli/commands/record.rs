use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use launcher::{CommandLine, PRELOADING};
use tuner::TunerError;
use vocabulary::{Library, quote_for_shell};

use super::campaign::search_paths;
use super::preload::{absolute_path, choose_library, find_preload_library, preload_list};
use super::profile::{ReadProfiles, parts_of, short_text};
use super::supervised::{run_supervised, shell_exit_code};
use super::{Answer, CliError, Console};
use crate::values;

/// Record what the collectives of an MPI program cost
///
/// Starts the command with libcolltune.so preloaded into its ranks only, as `run` does, and without a table: the library
/// carries out all collectives. When the program has called MPI_Finalize, the profile of all ranks is in the file, and a
/// short form of what `colltune profile` says about it is printed.
///
/// The profile has, for each kind of communicator and each form of call, the calls, the time in them, the longest one,
/// and the part of the time that ranks waited for the last one to arrive, estimated from some of the calls. It counts all
/// collectives, blocking, nonblocking or persistent, but no messages between two ranks.
///
/// While the program runs, every node writes what it has so far to FILE.JOB.part-RANK, where JOB are 16 digits that no other
/// job has and RANK is its first rank, at most every five seconds. A job that is killed leaves these parts, which `colltune
/// profile FILE` adds up; what the ranks did after the last one, at most about ten seconds, is lost. FILE may be a folder, in which each job gets a file of its own.
/// Nodes must see the folder of FILE.
///
/// To record with a table, and for other launchers and scripts, set the variables that --print-environment prints for
/// the ranks, together with those of `run --print-environment`.
///
/// Exits with the exit code of the command, or with 128 plus the number of the signal that ended it, as `run` does.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune record -- mpirun -n 64 ./solver input.dat
  colltune record -o profiles/solver.json -- mpiexec -n 4 ./solver
  colltune record -o profiles/ --print-environment --library openmpi-4.1.4 > recording.sh")]
pub(crate) struct RecordArgs {
    /// The file of the profile, or a folder
    #[arg(long, short, value_name = "FILE", default_value = "profile.json")]
    output: PathBuf,
    /// The MPI library of the program, if the launcher does not show it, or if colltune does not know it and the launcher
    /// shows the one that it derives from
    #[arg(long, value_name = "NAME-VERSION", value_parser = values::parse_library)]
    library: Option<Library>,
    /// Print the variables as shell exports, and start nothing
    #[arg(long, conflicts_with = "command", requires = "library")]
    print_environment: bool,
    /// The launcher, its options and the program
    #[arg(
        last = true,
        required_unless_present = "print_environment",
        value_name = "COMMAND"
    )]
    command: Vec<OsString>,
}

/// The warning if no rank has written a profile.
const NOTHING_RECORDED: &str = "no profile was written. If no rank has said why, the program did not start MPI, was ended \
                                by a signal within five seconds, is linked statically, or uses another MPI library.";

impl RecordArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let line = if self.print_environment {
            None
        } else {
            Some(self.parse_command()?)
        };
        let shown = line.as_ref().and_then(CommandLine::library);
        let library = choose_library(self.library.as_ref(), shown);
        let library = library.ok_or(CliError::UnknownLibrary)?;
        let preloaded = find_preload_library(&library)?;
        self.check_output()?;
        let output = absolute_path(&self.output);
        let variables = [
            (PRELOADING, preload_list(&preloaded, line.as_ref())),
            ("COLLTUNE_RECORD", output.clone().into()),
        ];
        let Some(line) = line else {
            let own = quote_for_shell(&preloaded.to_string_lossy());
            console.print(format_args!(
                "export {PRELOADING}={own}\"${{{PRELOADING}:+:${PRELOADING}}}\""
            ))?;
            let file = quote_for_shell(&output.to_string_lossy());
            console.print(format_args!("export COLLTUNE_RECORD={file}"))?;
            return Ok(Answer::Good);
        };
        let before = written_files(&output);
        let command = line.with_variables(&variables).map_err(TunerError::from)?;
        let status = run_supervised(&mut { command }).map_err(|source| CliError::Command {
            command: line.launcher().to_owned(),
            source,
        })?;
        let after = written_files(&output);
        let new = after.into_iter().filter(|(path, identity)| {
            let earlier = before.get(path);
            earlier != Some(identity)
        });
        let new: Vec<PathBuf> = new.map(|(path, _)| path).collect();
        if new.is_empty() {
            console.warn(NOTHING_RECORDED);
        } else {
            let read = ReadProfiles::read(new);
            read.warn(console);
            console.remark(short_text(&read.profile))?;
            console.remark(format_args!(
                "`colltune profile {}` shows all of it",
                self.output.display()
            ))?;
        }
        Ok(Answer::Program(shell_exit_code(status)))
    }

    /// Refuses an output that would replace a file of the command.
    fn check_output(&self) -> Result<(), TunerError> {
        if self.output.is_dir() {
            return Ok(());
        }
        let words = self.command.iter().map(Path::new);
        let words = words.filter(|word| word.exists());
        let inputs: Vec<_> = words
            .map(|word| ("a file of the command", Some(word)))
            .collect();
        let output = [("`--output`", Some(&*self.output))];
        tuner::check_outputs_differ(&output, &inputs)?;
        tuner::probe_outputs(&output)
    }

    /// The parsed command.
    fn parse_command(&self) -> Result<CommandLine, CliError> {
        let line = CommandLine::from_words(&self.command, &search_paths().path);
        line.map_err(|error| CliError::NoLauncherToRecord {
            source: error.into(),
        })
    }
}

/// What tells whether a file has been written again.
#[derive(PartialEq)]
struct FileIdentity {
    inode: u64,
    seconds: i64,
    nanoseconds: i64,
}

/// The files that a recording may have written: the output and its parts, or those in a folder.
fn written_files(output: &Path) -> BTreeMap<PathBuf, FileIdentity> {
    let mut paths = if output.is_dir() {
        super::profile::profiles_in(output).unwrap_or_default()
    } else {
        parts_of(output)
    };
    paths.push(output.to_owned());
    let identified = paths.into_iter().filter_map(|path| {
        let found = std::fs::metadata(&path)
            .ok()
            .filter(|found| found.is_file())?;
        let identity = FileIdentity {
            inode: found.ino(),
            seconds: found.mtime(),
            nanoseconds: found.mtime_nsec(),
        };
        Some((path, identity))
    });
    identified.collect()
}

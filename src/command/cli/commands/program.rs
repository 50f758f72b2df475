//! Timing a whole program without and with a table, for `validate` and `check`.

mod commands;
mod found;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use guard::{
    FEWEST_PAIRS, GuardError, ProgramRunner, ProgramVariant, RunResult, TimedProgram, TimingPlan,
    time_program,
};
use indicatif::ProgressBar;
use launcher::{ProgramEnd, run_program};
use printable::{Plain, shortened};
use regex::Regex;
use table::{Confidence, Deployment, Numerics, Policy};
use tuner::{NamedFile, TunerError};

use self::commands::{ProgramCommands, UsedTable};
pub(super) use self::found::{ProgramOutput, ProgramResults};
use super::guarded::TableArgs;
use super::in_force::JudgedTable;
use super::lookup::{warn_of_cpu, warn_of_networks, warn_of_simulation};
use super::run::{NO_CALL_INTERCEPTED, warn_if_unused};
use super::supervised::shell_exit_code;
use super::{CliError, Console};
use crate::interrupt;
use crate::values;

/// The most characters of a failing program's output that are quoted.
const MOST_QUOTED: usize = 500;

/// The arguments for timing a program.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Timing a program")]
pub(super) struct ProgramArgs {
    /// Time this program instead of single points, in turns without and with the table
    ///
    /// The command is split into words as a shell would do it, but no shell runs it. If it begins with a launcher, such
    /// as mpirun, mpiexec or srun, only its ranks get the table, as with `colltune run`. In other commands, such as a
    /// script, each call of a launcher by its name gets it, unless they put another folder before it in `$PATH`. With
    /// `--deployment library`, the variables that put the exported table in place are set instead. The program reads
    /// nothing from standard input. Files for the ranks are in the folder of the table, or in the working directory if
    /// that cannot be written to, until the command ends: all hosts must see them.
    #[arg(
        long,
        value_name = "COMMAND",
        conflicts_with_all = ["campaign", "store", "no_store", "probes", "seed", "events", "cells", "launches"]
    )]
    command: Option<String>,
    /// Compare a figure in the program's output instead of its run time
    ///
    /// The regular expression is searched for in each line of standard output. The last match counts: its first group,
    /// or all of it, must be a positive number, as in `--figure 'Loop time of ([0-9.]+)'`
    #[arg(long, value_name = "REGEX", requires = "command", value_parser = values::parse_regex)]
    figure: Option<Regex>,
    /// Larger figures are better, as with a rate
    #[arg(long, requires = "figure")]
    higher_is_better: bool,
    /// The number of pairs of runs: one without and one with the table, of which either comes first in turn
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        requires = "command",
        value_parser = clap::value_parser!(u32).range(i64::from(FEWEST_PAIRS)..=1000)
    )]
    pairs: u32,
    /// The number of pairs before these that do not count
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        requires = "command",
        value_parser = clap::value_parser!(u32).range(..=1000)
    )]
    warmups: u32,
    /// Write all runs to this file, as comma-separated values
    #[arg(long, value_name = "FILE", requires = "command")]
    times: Option<PathBuf>,
    /// The lowest confidence of rules that the program uses; by default the `min_confidence` of the table's campaign
    #[arg(long, value_name = "CONFIDENCE", requires = "command", value_parser = values::confidence_parser())]
    min_confidence: Option<Confidence>,
    /// The program also uses rules that no fresh launches confirmed
    #[arg(long, requires = "command")]
    unconfirmed: bool,
    /// What the bits of the program's reductions by colltune's algorithms must not depend on: independent_of_placement,
    /// independent_of_size, both with a comma between them, or none; by default the `numerics` of the table's campaign
    #[arg(long, value_name = "REQUIREMENTS", requires = "command")]
    numerics: Option<Numerics>,
}

impl ProgramArgs {
    /// Times the program that the arguments name; `None` if they name none. `further` outputs must not replace what is
    /// read, and are written by the caller.
    pub(super) fn time_program(
        &self,
        table_args: &TableArgs,
        test: &ProgramTest<'_>,
        console: Console,
    ) -> Result<Option<ProgramResults>, CliError> {
        let Some(command) = &self.command else {
            return Ok(None);
        };
        let words = commands::split_words(command)?;
        self.check_outputs(table_args, test, &words)?;
        let judged = JudgedTable::read(&table_args.path, None, console)?;
        let table = &judged.table;
        if !table.has_rules() {
            return Err(GuardError::NoRules.into());
        }
        let policy = Policy {
            min_confidence: self.min_confidence,
            unconfirmed: self.unconfirmed,
            extrapolate: false,
            // A requirement in the environment is none of the table's or of this command's.
            numerics: Some(self.numerics.unwrap_or(table.provenance.numerics)),
        };
        warn_of_simulation(table, console);
        match table_args.deployment {
            Deployment::Colltune => warn_if_unused(&table_args.path, table, policy, console),
            Deployment::Library => {
                warn_of_cpu(table, console);
                warn_of_networks(table, console);
            }
        }
        let used = UsedTable {
            table,
            path: &table_args.path,
            deployment: table_args.deployment,
            policy,
            assume_commutative: test.assume_commutative,
            any_version: table_args.any_version,
        };
        // From here on, files for the ranks are removed and the program is ended when the command is to stop.
        let stop = interrupt::stop_flag_with_hangup()?;
        let commands = ProgramCommands::prepare(words, &used, console)?;
        let plan = TimingPlan {
            warmups: self.warmups,
            pairs: self.pairs,
            budget_seconds: table_args.budget_seconds(),
        };
        let mut runner = ConsoleRunner {
            commands: &commands,
            figure: self.figure.as_ref(),
            stop,
            console,
            bar: console.progress_bar(
                u64::from(2 * (self.warmups + self.pairs)),
                "running the program {msg} [{bar:30}] {pos}/{len}, {elapsed} so far",
            ),
            summary: None,
            is_intercepted: None,
        };
        let mut timed = TimedProgram {
            is_higher_better: self.higher_is_better,
            ..TimedProgram::default()
        };
        let ended = time_program(&plan, &mut runner, &mut timed);
        runner.bar.finish_and_clear();
        // Runs that were made are kept, however the test ended.
        if let Some(path) = self.times.as_ref().filter(|_| !timed.runs.is_empty()) {
            tuner::write_text(path, &found::render_runs(&timed))?;
        }
        ended?;
        let found = ProgramResults {
            table: table_args.path.display().to_string(),
            library: commands.library.to_string(),
            deployment: table_args.deployment,
            command: command.clone(),
            figure: self.figure.as_ref().map(ToString::to_string),
            materiality: test.materiality,
            summary: runner.summary,
            is_intercepted: runner.is_intercepted,
            timed,
        };
        if let Some(path) = &table_args.markdown {
            tuner::write_text(path, &Plain(found.to_markdown()).to_string())?;
        }
        if table_args.json {
            console.print_json(&ProgramOutput::from_results(&found))?;
        } else {
            if let Some(summary) = &found.summary {
                console.remark(summary)?;
            }
            console.print(found.describe())?;
        }
        Ok(Some(found))
    }

    /// Refuses, before long runs, outputs that cannot be written or would replace what is read.
    fn check_outputs(
        &self,
        table_args: &TableArgs,
        test: &ProgramTest<'_>,
        words: &[OsString],
    ) -> Result<(), CliError> {
        let own = [
            ("`--times`", self.times.as_deref()),
            ("`--markdown`", table_args.markdown.as_deref()),
        ];
        let outputs = [&own[..], test.outputs].concat();
        let named = words.iter().map(Path::new).filter(|word| word.is_file());
        let named = named.map(|word| ("a file of the command", Some(word)));
        let inputs: Vec<_> = [("TABLE", Some(&*table_args.path))]
            .into_iter()
            .chain(named)
            .collect();
        tuner::check_outputs_differ(&outputs, &inputs)?;
        tuner::probe_outputs(&outputs)?;
        Ok(())
    }
}

/// What a verb makes of a program's times.
pub(super) struct ProgramTest<'a> {
    /// The loss that is tolerated, as a share.
    pub(super) materiality: f64,
    /// Whether the exported table is for programs without noncommutative operators.
    pub(super) assume_commutative: bool,
    /// Further files that the verb writes.
    pub(super) outputs: &'a [NamedFile<'a>],
}

/// Runs a program on this machine.
struct ConsoleRunner<'a> {
    commands: &'a ProgramCommands,
    figure: Option<&'a Regex>,
    /// Set when the user asks to stop.
    stop: Arc<AtomicBool>,
    console: Console,
    /// Shows the number of runs.
    bar: ProgressBar,
    /// What the first rank of the last run with the table said about its calls.
    summary: Option<String>,
    /// Whether calls of the runs with the table reached libcolltune.so; `None` if that is not known.
    is_intercepted: Option<bool>,
}

impl ProgramRunner for ConsoleRunner<'_> {
    type Error = CliError;

    fn run_program(
        &mut self,
        variant: ProgramVariant,
        limit_seconds: Option<f64>,
    ) -> Result<RunResult, CliError> {
        self.bar
            .set_message(format!("{} the table", variant.name()));
        self.bar.tick();
        // Files, since a pipe may fill up, or stay open in an orphaned process.
        let streams = OutputFiles::create()?;
        let mut command = self.commands.make_command(variant)?;
        command
            .stdin(Stdio::null())
            .stdout(streams.share(&streams.output)?)
            .stderr(streams.share(&streams.errors)?);
        let limit = limit_seconds.map(Duration::from_secs_f64);
        let end = run_program(command, limit, &self.stop).map_err(TunerError::from)?;
        let (status, took) = match end {
            ProgramEnd::Ended { status, took } => (status, took),
            ProgramEnd::Stopped => return Err(TunerError::Interrupted.into()),
            ProgramEnd::TooLong => return Ok(RunResult::TooLong),
        };
        if self.commands.take_refusal() {
            return Err(CliError::LauncherRefused {
                message: streams.last_error()?,
            });
        }
        if !status.success() {
            let (code, said) = (shell_exit_code(status), streams.last_words()?);
            return Ok(RunResult::Failed(format!(
                "ended with exit code {code}: {said}"
            )));
        }
        if variant == ProgramVariant::With {
            self.take_summary();
        }
        let figure = match self.figure.map(|pattern| streams.find_figure(pattern)) {
            None => None,
            Some(Ok(figure)) => Some(figure),
            // A run without the table comes first, so then the pattern is right.
            Some(Err(NoFigure::Absent { problem })) if variant == ProgramVariant::With => {
                return Ok(RunResult::Failed(format!("printed no figure: {problem}")));
            }
            Some(Err(NoFigure::Absent { problem })) => {
                let pattern = self.figure.map(ToString::to_string).unwrap_or_default();
                return Err(CliError::NoFigure { pattern, problem });
            }
            Some(Err(NoFigure::Unreadable(source))) => return Err(CliError::Output(source)),
        };
        self.bar.inc(1);
        Ok(RunResult::Succeeded {
            seconds: took.as_secs_f64(),
            figure,
        })
    }
}

impl ConsoleRunner<'_> {
    /// Keeps what the first rank wrote about its calls. Warns once if none was intercepted.
    fn take_summary(&mut self) {
        let Some(log) = &self.commands.log else {
            return;
        };
        let summary = files::read_text(log).ok();
        // The next run must not be taken for this one.
        let _ = std::fs::remove_file(log);
        let is_intercepted = summary
            .as_ref()
            .is_some_and(|text| !text.contains(NO_CALL_INTERCEPTED));
        if !is_intercepted && self.is_intercepted != Some(false) {
            let console = self.console;
            self.bar.suspend(|| console.warn(NO_CALL_INTERCEPTED));
        }
        self.is_intercepted = Some(self.is_intercepted.unwrap_or(true) && is_intercepted);
        self.summary = summary.map(|text| text.trim_end().to_owned());
    }
}

/// Why a program's output has no figure.
enum NoFigure {
    /// It is not there, as these words say.
    Absent { problem: String },
    /// The output cannot be read.
    Unreadable(io::Error),
}

/// What a program writes.
struct OutputFiles {
    output: File,
    errors: File,
}

impl OutputFiles {
    fn create() -> Result<Self, CliError> {
        let create = || tempfile::tempfile().map_err(CliError::Output);
        Ok(Self {
            output: create()?,
            errors: create()?,
        })
    }

    /// One of the files, for the program.
    fn share(&self, file: &File) -> Result<Stdio, CliError> {
        let shared = file.try_clone().map_err(CliError::Output)?;
        Ok(shared.into())
    }

    /// The last match of a pattern in the output, as a positive number.
    fn find_figure(&self, pattern: &Regex) -> Result<f64, NoFigure> {
        let mut output = &self.output;
        output.rewind().map_err(NoFigure::Unreadable)?;
        let mut last = None;
        // Line by line, since outputs may be large; programs may print what is not UTF-8.
        for line in BufReader::new(output).split(b'\n') {
            let line = line.map_err(NoFigure::Unreadable)?;
            let text = String::from_utf8_lossy(&line);
            if let Some(found) = pattern.captures_iter(&text).last() {
                let part = found.get(1).or_else(|| found.get(0));
                last = part.map(|part| part.as_str().to_owned());
            }
        }
        let Some(text) = last else {
            let problem = "nothing matches it".to_owned();
            return Err(NoFigure::Absent { problem });
        };
        let number = text.trim().parse::<f64>().ok();
        let positive = number.filter(|number| number.is_finite() && *number > 0.0);
        positive.ok_or_else(|| {
            let quoted = shortened(&text, MOST_QUOTED);
            let problem = format!("the last match is `{quoted}`, not a positive number");
            NoFigure::Absent { problem }
        })
    }

    /// The last error of colltune among what the program wrote to standard error.
    fn last_error(&self) -> Result<String, CliError> {
        let text = read_end(&self.errors).map_err(CliError::Output)?;
        let mut errors = text.lines().filter_map(|line| line.strip_prefix("error: "));
        match errors.next_back() {
            Some(error) => Ok(error.to_owned()),
            None => self.last_words(),
        }
    }

    /// The end of what the program wrote to standard error, or else to standard output.
    fn last_words(&self) -> Result<String, CliError> {
        for stream in [&self.errors, &self.output] {
            let text = read_end(stream).map_err(CliError::Output)?;
            let words: Vec<&str> = text.split_whitespace().collect();
            if !words.is_empty() {
                return Ok(words.join(" "));
            }
        }
        Ok("it printed nothing".to_owned())
    }
}

/// The last characters of a file.
fn read_end(mut file: &File) -> io::Result<String> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MOST_QUOTED as u64)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

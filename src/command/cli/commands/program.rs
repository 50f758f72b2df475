//! Timing a whole program without and with a table, for `validate` and `check`.

mod commands;
mod found;

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use guard::{FEWEST_PAIRS, ProgramRunner, ProgramVariant, RunResult, TimingPlan, time_program};
use indicatif::ProgressBar;
use launcher::{ProgramEnd, run_program};
use printable::{Plain, shortened};
use regex::Regex;
use table::{Confidence, Policy};
use tuner::TunerError;
use vocabulary::units::format_seconds;

use self::commands::ProgramCommands;
pub(super) use self::found::{ProgramOutput, ProgramResults};
use super::guarded::TableArgs;
use super::in_force::JudgedTable;
use super::run::NO_CALL_INTERCEPTED;
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
    /// script, each call of a launcher by its name gets it. With `--deployment library`, the variables that put the
    /// exported table in place are set instead. The program reads nothing from standard input.
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
}

impl ProgramArgs {
    /// Times the program that the arguments name; `None` if they name none.
    pub(super) fn time_program(
        &self,
        table: &TableArgs,
        materiality: f64,
        console: Console,
    ) -> Result<Option<ProgramResults>, CliError> {
        let Some(command) = &self.command else {
            return Ok(None);
        };
        // Runs may take long, so what cannot be written is refused before.
        let outputs = [
            ("`--times`", self.times.as_deref()),
            ("`--markdown`", table.markdown.as_deref()),
        ];
        tuner::check_outputs_differ(&outputs, &[("TABLE", Some(&*table.path))])?;
        tuner::probe_outputs(&outputs)?;
        let judged = JudgedTable::read(&table.path, None, console)?;
        let policy = Policy {
            min_confidence: self.min_confidence,
            unconfirmed: self.unconfirmed,
            extrapolate: false,
        };
        let commands = ProgramCommands::prepare(command, &judged.table, policy, table, console)?;
        let mut runner = ConsoleRunner {
            commands: &commands,
            figure: self.figure.as_ref(),
            stop: interrupt::stop_flag()?,
            limit: table.budget_seconds().map(Duration::from_secs_f64),
            console,
            bar: console.progress_bar(
                u64::from(2 * (self.warmups + self.pairs)),
                "running the program {msg} [{bar:30}] {pos}/{len}, {elapsed} so far",
            ),
            summary: None,
            is_warned: false,
        };
        let plan = TimingPlan {
            warmups: self.warmups,
            pairs: self.pairs,
            budget_seconds: table.budget_seconds(),
            is_higher_better: self.higher_is_better,
        };
        let timed = time_program(&plan, &mut runner)?;
        runner.bar.finish_and_clear();
        if let Some(path) = &self.times {
            tuner::write_text(path, &found::render_runs(&timed))?;
        }
        let found = ProgramResults {
            table: table.path.display().to_string(),
            library: commands.library.to_string(),
            deployment: table.deployment,
            command: command.clone(),
            figure: self.figure.as_ref().map(ToString::to_string),
            materiality,
            summary: runner.summary,
            timed,
        };
        if let Some(path) = &table.markdown {
            tuner::write_text(path, &Plain(found.to_markdown()).to_string())?;
        }
        if table.json {
            console.print_json(&ProgramOutput::from_results(&found))?;
        } else {
            if let Some(summary) = &found.summary {
                console.remark(summary)?;
            }
            console.print(found.describe())?;
        }
        Ok(Some(found))
    }
}

/// Runs a program on this machine.
struct ConsoleRunner<'a> {
    commands: &'a ProgramCommands,
    figure: Option<&'a Regex>,
    /// Set when the user asks to stop.
    stop: Arc<AtomicBool>,
    /// The time that one run may take.
    limit: Option<Duration>,
    console: Console,
    /// Shows the number of runs.
    bar: ProgressBar,
    /// What the first rank of the last run with the table said about its calls.
    summary: Option<String>,
    /// Whether it was said that no call is intercepted.
    is_warned: bool,
}

impl ProgramRunner for ConsoleRunner<'_> {
    type Error = CliError;

    fn run_program(&mut self, variant: ProgramVariant) -> Result<RunResult, CliError> {
        let name = variant.name();
        self.bar.set_message(format!("{name} the table"));
        self.bar.tick();
        // Files, since a pipe may fill up, or stay open in an orphaned process.
        let streams = OutputFiles::create().map_err(|source| self.commands.start_error(source))?;
        let mut command = self.commands.make_command(variant)?;
        command
            .stdin(Stdio::null())
            .stdout(streams.share_output()?)
            .stderr(streams.share_errors()?);
        let end = run_program(command, self.limit, &self.stop).map_err(TunerError::from)?;
        let (status, took) = match end {
            ProgramEnd::Ended { status, took } => (status, took),
            ProgramEnd::Stopped => return Err(TunerError::Interrupted.into()),
            ProgramEnd::TooLong => {
                let limit = format_seconds(self.limit.unwrap_or_default().as_secs_f64());
                return Ok(RunResult::Failed(format!("did not end within {limit}")));
            }
        };
        if !status.success() {
            let code = shell_exit_code(status);
            let said = streams.last_words()?;
            return Ok(RunResult::Failed(format!(
                "ended with exit code {code}: {said}"
            )));
        }
        self.bar.inc(1);
        if variant == ProgramVariant::With {
            self.take_summary();
        }
        let figure = match self.figure {
            Some(figure) => Some(self.find_figure(figure, streams.output, name)?),
            None => None,
        };
        Ok(RunResult::Succeeded {
            seconds: took.as_secs_f64(),
            figure,
        })
    }
}

impl ConsoleRunner<'_> {
    /// Keeps what the first rank wrote about its calls. Warns once if it wrote nothing although it should.
    fn take_summary(&mut self) {
        let Some(log) = &self.commands.log else {
            return;
        };
        let summary = files::read_text(log).ok();
        // The next run must not be taken for this one.
        let _ = std::fs::remove_file(log);
        if summary.is_none() && !self.is_warned {
            // The bar would be drawn over.
            let console = self.console;
            self.bar.suspend(|| console.warn(NO_CALL_INTERCEPTED));
            self.is_warned = true;
        }
        self.summary = summary.map(|text| text.trim_end().to_owned());
    }

    /// The last match of a pattern in a program's output, as a positive number.
    fn find_figure(
        &self,
        pattern: &Regex,
        mut output: std::fs::File,
        variant: &str,
    ) -> Result<f64, CliError> {
        let mut last = None;
        output
            .seek(SeekFrom::Start(0))
            .map_err(|source| self.commands.start_error(source))?;
        // Line by line, since outputs may be large; programs may print what is not UTF-8.
        for line in BufReader::new(output).split(b'\n') {
            let line = line.map_err(|source| self.commands.start_error(source))?;
            let text = String::from_utf8_lossy(&line);
            if let Some(found) = pattern.captures_iter(&text).last() {
                let part = found.get(1).or_else(|| found.get(0));
                last = part.map(|part| part.as_str().to_owned());
            }
        }
        let no_figure = |problem: String| CliError::NoFigure {
            pattern: pattern.to_string(),
            variant: variant.to_owned(),
            problem,
        };
        let Some(text) = last else {
            return Err(no_figure("nothing matches it".to_owned()));
        };
        let number = text.trim().parse::<f64>().ok();
        let positive = number.filter(|number| number.is_finite() && *number > 0.0);
        positive.ok_or_else(|| {
            let quoted = shortened(&text, MOST_QUOTED);
            no_figure(format!(
                "the last match is `{quoted}`, not a positive number"
            ))
        })
    }
}

/// What a program writes.
struct OutputFiles {
    output: std::fs::File,
    errors: std::fs::File,
}

impl OutputFiles {
    fn create() -> io::Result<Self> {
        Ok(Self {
            output: tempfile::tempfile()?,
            errors: tempfile::tempfile()?,
        })
    }

    fn share_output(&self) -> Result<Stdio, CliError> {
        self.output
            .try_clone()
            .map(Stdio::from)
            .map_err(CliError::Output)
    }

    fn share_errors(&self) -> Result<Stdio, CliError> {
        self.errors
            .try_clone()
            .map(Stdio::from)
            .map_err(CliError::Output)
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
fn read_end(mut file: &std::fs::File) -> io::Result<String> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MOST_QUOTED as u64)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

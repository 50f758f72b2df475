mod measured;
mod sarif;

use std::fmt::Write;
use std::path::PathBuf;

use launcher::LibraryChoice;
use printable::Plain;
use schemars::JsonSchema;
use serde::Serialize;
use tuner::{AuditReport, AuditRequest, AuditedFinding, AuditedSource, audit_settings};
use vocabulary::units::format_counted;

use self::measured::{LinesOutput, MeasureLinesArgs};
use super::campaign::search_paths;
use super::{Answer, CliError, Console};
use crate::values;

/// Say what MPI libraries really do with a site's tuning files and variables
///
/// Examines files that steer the choice of algorithms: rules files of Open MPI (the format before 6.0, and JSON), rules
/// of its component han, its parameter files; selection files of MPICH; and scripts and module files that set variables
/// of these libraries and of Intel MPI (OMPI_MCA_*, MPIR_CVAR_*, I_MPI_ADJUST_*). Says at each line what the library does
/// there: files that it ignores silently, rules that apply to no call, numbers that it reads differently, names that the
/// release does not have, settings without their switch, algorithms that are unsafe or do not exist.
///
/// Files are examined together: a parameter file may name the rules file. Without files, the environment is examined
/// as it is here, with the parameter files and rules files that the libraries on the search path read.
///
/// Releases read files differently. Files are examined for the release that is installed here, or for the one that
/// --library names, which need not be installed; names of settings are then those that colltune knows.
///
/// With --measure, the lines of a rules file of Open MPI, or of a selection file of MPICH's algorithms, are measured in the
/// library that is installed here against its own choices: the
/// measuring program forces the algorithm of each line and calls the default in the same launches, at the sizes of a
/// campaign and at those from which lines decide. What seems slower is measured again, and only these launches count against
/// it. A line is a fault if it is slower, or fails, at any size; whether it gains, loses or makes no difference is printed
/// with the speed-up and its 95 % interval. --repair writes a file of Open MPI with algorithm 0 in the lines that only lose, which
/// leaves the choice to the library, and everything else as it is; lines that gain at some sizes and lose at others stay.
///
/// Exit codes: 0 nothing must be corrected; 1 there are faults, or with --repair, faults are left in OUT; 2 a file cannot
/// be read or has no known format; 3 the library that reads a file is not installed, and --library does not name a release,
/// or its own choices cannot be measured here.
///
/// `colltune schema audit` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune audit
  colltune audit site/rules.conf site/openmpi-mca-params.conf
  colltune audit --library openmpi-5.0.7 --sarif audit.sarif site/rules.conf
  colltune audit site/rules.conf --measure --shapes 1x2 --budget 10m --repair site/repaired.conf")]
pub(crate) struct AuditArgs {
    /// Files to examine; without any, what is in force here
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The library, and the release whose treatment of the files is wanted, as in `openmpi-5.0.7`
    #[arg(long, value_name = "LIBRARY", value_parser = values::parse_library_choice)]
    library: Option<LibraryChoice>,
    /// The format of the files, if they do not look like it: openmpi, openmpi-json, openmpi-han, openmpi-parameters,
    /// mpich, mpich-ch4, mpich-posix or environment
    #[arg(long, value_name = "FORMAT", requires = "files")]
    format: Option<String>,
    /// Leave out what concerns only operators that do not commute
    #[arg(long)]
    assume_commutative: bool,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
    /// Write the findings to this file as SARIF, which services such as GitHub show at the lines of the files
    #[arg(long, value_name = "OUTPUT")]
    sarif: Option<PathBuf>,
    #[command(flatten)]
    measuring: MeasureLinesArgs,
}

/// The output of `--json`.
#[derive(JsonSchema, Serialize)]
pub(super) struct AuditOutput {
    #[serde(flatten)]
    report: AuditReport,
    /// What launches have shown about the lines; only with `--measure`, and null if the library ignores the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<Option<LinesOutput>>,
}

impl AuditArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let request = AuditRequest {
            files: self.files.clone(),
            library: self.library.clone(),
            format: self.format.clone(),
            assume_commutative: self.assume_commutative,
        };
        let files = self.files.iter();
        let inputs: Vec<_> = files.map(|file| ("`FILE`", Some(file.as_path()))).collect();
        tuner::check_outputs_differ(&[("`--sarif`", self.sarif.as_deref())], &inputs)?;
        if let (true, [file]) = (self.measuring.is_wanted(), &self.files[..]) {
            self.measuring.check_outputs(file, self.sarif.as_deref())?;
        }
        let mut report = audit_settings(&request, &search_paths())?;
        // What fails while lines are measured does not cost what is known already: that is printed and written first.
        let mut measured = None;
        let mut failure = None;
        if self.measuring.is_wanted() {
            let measuring = &self.measuring;
            let prepared = measuring.prepare_file(&request, console)?;
            let measure = |file| measuring.measure_file(file, &request, &mut report, console);
            match prepared.map(measure).transpose() {
                Ok(Some(file)) => {
                    measured = Some(Some(file.lines));
                    failure = file.failure;
                }
                Ok(None) => measured = Some(None),
                Err(error) => failure = Some(error),
            }
        }
        let output = AuditOutput { report, measured };
        // A closed pipe does not cost the file, nor a full disk what is printed.
        let printed = self.print_output(&output, console);
        self.write_sarif(&output.report)?;
        printed?;
        match failure {
            Some(failure) => Err(failure),
            None if output.is_good() => Ok(Answer::Good),
            None => Ok(Answer::No),
        }
    }

    fn print_output(&self, output: &AuditOutput, console: Console) -> Result<(), CliError> {
        if self.json {
            console.print_json(output)?;
        } else {
            let text = output.describe(console.is_quiet());
            if !text.is_empty() {
                console.print(text.trim_end())?;
            }
        }
        Ok(())
    }

    fn write_sarif(&self, report: &AuditReport) -> Result<(), CliError> {
        let Some(path) = &self.sarif else {
            return Ok(());
        };
        // Without a current folder, all names stay as they are.
        let folder = std::env::current_dir().unwrap_or_default();
        let log = sarif::SarifLog::from_report(report, &folder);
        let text = crate::console::to_pretty_json(&log)?;
        tuner::write_text(path, &(Plain(text).to_string() + "\n"))?;
        Ok(())
    }
}

impl AuditOutput {
    /// What launches have shown about lines.
    fn lines(&self) -> Option<&LinesOutput> {
        self.measured.as_ref()?.as_ref()
    }

    fn describe(&self, faults_only: bool) -> String {
        let mut text = describe_report(&self.report, faults_only);
        if let Some(lines) = self.lines().filter(|_| !faults_only) {
            text += &lines.describe();
        }
        text
    }

    /// Whether nothing is left to correct, in the repaired file if there is one.
    fn is_good(&self) -> bool {
        let repaired = self.lines().and_then(LinesOutput::repaired_is_good);
        repaired.unwrap_or(self.report.faults == 0)
    }
}

/// The findings as compilers print theirs; without what need not be corrected if `faults_only`.
fn describe_report(report: &AuditReport, faults_only: bool) -> String {
    let mut text = String::new();
    for source in &report.sources {
        let place = source_name(source);
        if !faults_only {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", describe_source(source, &place));
        }
        let findings = source.findings.iter();
        for finding in findings.filter(|finding| finding.fault || !faults_only) {
            let AuditedFinding {
                line,
                kind,
                fault,
                message,
                remedy,
            } = finding;
            let line = line.map_or_else(String::new, |line| format!(":{line}"));
            let level = if *fault { "fault" } else { "note" };
            let _ = writeln!(text, "{place}{line}: {level}: {message} [{kind}]");
            if let Some(remedy) = remedy {
                let _ = writeln!(text, "  help: {remedy}");
            }
        }
    }
    if !faults_only {
        let AuditReport { faults, notes, .. } = report;
        let _ = writeln!(
            text,
            "{}, {}",
            format_counted(*faults, "fault"),
            format_counted(*notes, "note")
        );
    }
    text
}

fn source_name(source: &AuditedSource) -> String {
    let path = source.path.as_ref();
    path.map_or_else(
        || "environment".to_owned(),
        |path| path.display().to_string(),
    )
}

/// A line about a file: what it is, and who reads it.
fn describe_source(source: &AuditedSource, place: &str) -> String {
    let AuditedSource {
        title,
        library,
        named_by,
        ..
    } = source;
    let title = if source.path.is_some() {
        format!("{title}, ")
    } else {
        String::new()
    };
    let named_by = named_by.as_ref();
    let named_by = named_by.map_or_else(String::new, |by| format!(", named by {by}"));
    format!("{place}: {title}as {library} treats it{named_by}")
}

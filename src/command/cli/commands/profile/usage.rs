//! `colltune profile` over lines about jobs that were given a table.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use profile::usage::{
    CarriedCalls, CollectiveUsage, CoverageOverview, JobUsage, MOST_LINE_BYTES, TableCoverage,
    TableUsageOverview, UsageError, UsageOverview, UsageSum,
};
use report::text_table;
use schemars::JsonSchema;
use serde::Serialize;
use vocabulary::units::{format_count, format_counted};

use super::super::{Answer, CliError, Console};
use super::{UnreadableReason, percent};

/// The digits of a digest that are shown.
const SHOWN_DIGITS: usize = 12;

/// The output with `--json`.
#[derive(JsonSchema, Serialize)]
pub(crate) struct UsageOutput {
    /// The files that were added up.
    files: Vec<String>,
    /// The number of lines that could not be read, and do not count.
    damaged_lines: u64,
    /// The figures of all lines together.
    #[serde(flatten)]
    overview: UsageOverview,
}

/// The lines of files, added up.
#[derive(Debug, Default)]
struct ReadLines {
    sum: UsageSum,
    files: Vec<String>,
    damaged_lines: u64,
    /// The first damage.
    error: Option<CliError>,
    /// The number of files that could not be read to their ends.
    unreadable: usize,
}

/// Shows what tables did for the jobs in files.
pub(super) fn show_usage(
    paths: &[PathBuf],
    top: usize,
    as_json: bool,
    console: Console,
) -> Result<Answer, CliError> {
    let mut read = ReadLines::default();
    for path in paths {
        read.read_file(path);
    }
    let overview = read.sum.overview();
    if as_json {
        console.print_json(&UsageOutput {
            files: read.files.clone(),
            damaged_lines: read.damaged_lines,
            overview,
        })?;
    } else {
        if overview.repeated_lines > 0 {
            let lines = format_counted(overview.repeated_lines, "line");
            let counted = match overview.repeated_lines {
                1 => "is there twice and counts once",
                _ => "are there twice and count once",
            };
            console.warn(format_args!("{lines} {counted}"));
        }
        console.print(describe(&overview, top))?;
    }
    read.into_error().map_or(Ok(Answer::Good), Err)
}

impl ReadLines {
    /// Adds the lines of a file; those that cannot be read are left out.
    fn read_file(&mut self, path: &Path) {
        self.files.push(path.display().to_string());
        if let Err(source) = self.read_lines(path) {
            self.unreadable += 1;
            self.error.get_or_insert_with(|| CliError::Profile {
                path: path.to_owned(),
                source: UnreadableReason::File(source),
                others: 0,
            });
        }
    }

    fn read_lines(&mut self, path: &Path) -> io::Result<()> {
        let mut from = BufReader::new(files::open_regular(path)?);
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            // A line is kept no further than colltune writes one.
            let most = MOST_LINE_BYTES as u64;
            if from.by_ref().take(most).read_until(b'\n', &mut line)? == 0 {
                break;
            }
            let has_end = line.pop_if(|last| *last == b'\n').is_some();
            if !has_end && line.len() == MOST_LINE_BYTES {
                from.skip_until(b'\n')?;
            }
            if !line.trim_ascii().is_empty() {
                self.add_line(path, number, &line);
            }
        }
        Ok(())
    }

    fn add_line(&mut self, path: &Path, number: u64, line: &[u8]) {
        match JobUsage::from_line(line) {
            Ok(job) => self.sum.add_job(&job),
            Err(source) => {
                self.damaged_lines += 1;
                self.error.get_or_insert_with(|| CliError::UsageLine {
                    path: path.to_owned(),
                    line: number,
                    source,
                    others: 0,
                });
            }
        }
    }

    /// The error about what was read first and is damaged, with the number of other damaged lines or files.
    fn into_error(self) -> Option<CliError> {
        let error = match self.error? {
            CliError::UsageLine {
                path, line, source, ..
            } => CliError::UsageLine {
                path,
                line,
                source,
                others: self.damaged_lines.saturating_sub(1),
            },
            CliError::Profile { path, source, .. } => CliError::Profile {
                path,
                source,
                others: self.unreadable.saturating_sub(1),
            },
            other => other,
        };
        Some(error)
    }
}

/// Whether a later colltune wrote a line.
pub(crate) fn is_of_later(error: &UsageError) -> bool {
    matches!(error, UsageError::Version { .. })
}

/// Whether a file has lines about jobs: by its name, or by what it begins with.
pub(super) fn has_usage(path: &Path) -> bool {
    if is_named_as_usage(path) {
        return true;
    }
    let begins = || -> io::Result<bool> {
        let mut start = Vec::new();
        let file = files::open_regular(path)?;
        file.take(64).read_to_end(&mut start)?;
        let sign = b"{\"format\":\"colltune-usage\"";
        Ok(start.starts_with(sign))
    };
    // What is wrong with it says who reads all of it.
    begins().unwrap_or(false)
}

fn is_named_as_usage(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "jsonl")
}

/// The files with lines about jobs in a folder, by name.
pub(super) fn usage_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if is_named_as_usage(&path) && !name.starts_with('.') && path.is_file() {
            found.push(path);
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// The figures as text.
fn describe(overview: &UsageOverview, top: usize) -> String {
    let jobs = format_counted(overview.jobs, "job");
    let mut paragraphs = vec![format!("{jobs}; {}", describe_coverage(&overview.coverage))];
    paragraphs.extend(
        overview
            .tables
            .iter()
            .map(|table| describe_table(table, top)),
    );
    paragraphs.join("\n\n")
}

fn describe_coverage(coverage: &CoverageOverview) -> String {
    if coverage.calls == 0 {
        return "no calls of collectives".to_owned();
    }
    let mut text = format!(
        "of {} of collectives colltune carried out {}, the tables leave {} to the library, and {} are not covered",
        format_counted(format_count(coverage.calls), "call"),
        percent(coverage.served_share),
        percent(coverage.left_by_table_share),
        percent(coverage.not_covered_share),
    );
    if let (Some(served), Some(not_covered)) = (
        coverage.served_seconds_share,
        coverage.not_covered_seconds_share,
    ) {
        text += &format!(
            "\nof the time in the {} of the calls that were timed, {} is in calls that colltune carried out, {} in those that \
             are not covered",
            percent(coverage.timed_share),
            percent(served),
            percent(not_covered),
        );
    }
    text
}

fn describe_table(table: &TableUsageOverview, top: usize) -> String {
    let mut lines = vec![describe_identity(table)];
    let outcomes = table.outcomes.iter();
    let outcomes: Vec<String> = outcomes
        .map(|(outcome, jobs)| format!("{jobs} {}", outcome.describe()))
        .collect();
    lines.push(format!("jobs: {}", outcomes.join(", ")));
    if !table.libraries.is_empty() {
        let names: Vec<&str> = table.libraries.keys().map(String::as_str).collect();
        lines.push(format!("libraries: {}", names.join(", ")));
    }
    if table.coverage.calls > 0 {
        lines.push(describe_coverage(&table.coverage));
        let shown = table.collectives.iter().take(top);
        let rows = text_table(
            "collective | calls> | colltune> | table's default> | not covered> | most of that",
            shown.map(collective_row),
        );
        lines.push(rows.to_text().trim_end().to_owned());
        let hidden = table.collectives.len().saturating_sub(top);
        if hidden > 0 {
            lines.push(format!("and {hidden} more (--top)"));
        }
    }
    lines.join("\n")
}

/// The table, its jobs, and their days.
fn describe_identity(table: &TableUsageOverview) -> String {
    let jobs = format_counted(table.jobs, "job");
    let name = match &table.sha256 {
        Some(digest) => {
            let digits: String = digest.chars().take(SHOWN_DIGITS).collect();
            format!("table {} (sha256 {digits})", table.names.join(", "))
        }
        None => "without a table".to_owned(),
    };
    let days = [table.first_started, table.last_started].map(|seconds| {
        let seconds = seconds.and_then(|seconds| i64::try_from(seconds).ok())?;
        let time = Timestamp::from_second(seconds).ok()?;
        Some(time.strftime("%Y-%m-%d").to_string())
    });
    let days = match days {
        [Some(first), Some(last)] if first == last => format!(" of {first}"),
        [Some(first), Some(last)] => format!(" from {first} to {last}"),
        _ => String::new(),
    };
    format!("{name}: {jobs}{days}")
}

fn collective_row(usage: &CollectiveUsage) -> [String; 6] {
    let is_uncovered =
        |row: &&CarriedCalls| row.by.coverage() == TableCoverage::NotCovered && row.calls > 0;
    let most = usage.by.iter().find(is_uncovered);
    let coverage = &usage.coverage;
    [
        usage.collective.clone(),
        coverage.calls.to_string(),
        percent(coverage.served_share),
        percent(coverage.left_by_table_share),
        percent(coverage.not_covered_share),
        most.map_or_else(String::new, |row| {
            format!("{}: {}", percent(row.share), row.by.describe())
        }),
    ]
}

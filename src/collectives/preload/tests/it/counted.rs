//! Collectives that tables do not decide about: the summary counts them, with the time in them.

use std::path::PathBuf;

use launcher::LibraryName;
use tempfile::TempDir;
use testkit::mpi::{chosen_family, chosen_installation};
use testkit::tables::{forcing_table, save_table};

use crate::fortran::compiled_fortran;
use crate::launch::{compiled, run_preloaded};

/// A row of the summary.
#[derive(Debug)]
struct Row {
    name: String,
    calls: u64,
    seconds: f64,
    percent: f64,
    reason: String,
}

/// The rows of collectives that are not served.
fn unserved_rows(text: &str) -> Vec<Row> {
    let lines = text.lines();
    let rows = lines.filter_map(|line| {
        let row = line.strip_prefix("colltune: ")?;
        let (row, reason) = row.split_once("the library: not served (")?;
        let words: Vec<&str> = row.split_whitespace().collect();
        let [name, calls, seconds, percent, "%"] = words[..] else {
            panic!("{line}");
        };
        Some(Row {
            name: name.to_owned(),
            calls: calls.parse().expect(line),
            seconds: seconds.parse().expect(line),
            percent: percent.parse().expect(line),
            reason: reason.strip_suffix(')').expect(line).to_owned(),
        })
    });
    rows.collect()
}

/// The share of the time in all collectives that is not served, in percent.
fn total_percent(text: &str) -> f64 {
    let mut lines = text.lines();
    let total = lines.find_map(|line| {
        let (numbers, _) = line.split_once(" % ")?;
        let is_total = line.ends_with("of the time in all collectives is not served");
        let numbers = numbers.strip_prefix("colltune: together ")?;
        numbers.split_whitespace().last().filter(|_| is_total)
    });
    total.expect(text).parse().expect("a percentage")
}

/// The words after a first one, of each line that the program prints.
fn told<'a>(text: &'a str, first: &str) -> Vec<Vec<&'a str>> {
    let lines = text.lines().filter_map(|line| line.strip_prefix(first));
    lines
        .map(|line| line.split_whitespace().collect())
        .collect()
}

/// The program, and a table for the collectives that are served.
struct Prepared {
    folder: TempDir,
    table: PathBuf,
}

impl Prepared {
    fn new() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let table = save_table(
            &forcing_table(1, chosen_installation().library()),
            folder.path(),
        );
        Self { folder, table }
    }

    fn run(&self, what: &str, flags: &[&str], more: &[(&str, &str)]) -> String {
        let program = compiled("counted.c", self.folder.path(), flags);
        let text = run_preloaded(&program, &[what.to_owned()], 2, &self.table, more);
        let text = text.expect_success();
        assert!(text.contains("the program ends"), "{what}: {text}");
        text
    }

    /// The program's output, and after it the summary, which goes to a file: the launcher may mix lines of both.
    fn run_with_summary(&self, what: &str, flags: &[&str]) -> String {
        let log = self.folder.path().join("log");
        let more = [("COLLTUNE_LOG", log.to_str().expect("a path"))];
        let text = self.run(what, flags, &more);
        let summary = std::fs::read_to_string(&log).expect("a summary");
        text + &summary
    }

    /// Checks that the rows are what the program says, and returns them.
    fn check(&self, what: &str, flags: &[&str]) -> Vec<Row> {
        let text = self.run_with_summary(what, flags);
        let rows = unserved_rows(&text);
        let counted: Vec<_> = rows
            .iter()
            .map(|row| (row.name.as_str(), row.calls))
            .collect();
        let called: Vec<_> = told(&text, "called ")
            .into_iter()
            .map(|words| (words[0], words[1].parse().expect("a number")))
            .collect();
        assert_eq!(counted, called, "{text}");
        assert!(!called.is_empty(), "{text}");
        // Each share is rounded to a tenth of a percent.
        let percent: f64 = rows.iter().map(|row| row.percent).sum();
        let rounding = 0.05 * (rows.len() + 1) as f64;
        let difference = percent - total_percent(&text);
        assert!(difference.abs() <= rounding + 1e-9, "{percent}: {text}");
        rows
    }
}

/// What the summary says of a collective.
fn expected_reason(name: &str) -> &'static str {
    if name.contains("neighbor_") {
        return "neighbourhood collective";
    }
    if name.ends_with("_init") {
        return "persistent";
    }
    match name {
        _ => {
            assert!(name.starts_with('i'), "{name}");
            "nonblocking"
        }
    }
}

/// Checks the reasons of rows.
fn expect_reasons(rows: &[Row]) {
    for row in rows {
        assert_eq!(row.reason, expected_reason(&row.name), "{row:?}");
    }
}

#[test]
fn every_collective_that_is_not_served_is_counted_under_mpi() {
    let prepared = Prepared::new();
    let mut forms: Vec<&[&str]> = vec![&[]];
    if chosen_family() == LibraryName::Mpich {
        forms.push(&["-DLARGE"]);
    }
    for flags in forms {
        let rows = prepared.check("all", flags);
        expect_reasons(&rows);
        let seconds: f64 = rows.iter().map(|row| row.seconds).sum();
        assert!(seconds > 0.0, "{rows:?}");
    }
    expect_reasons(&prepared.check("strain", &[]));
}

#[test]
fn the_time_counts_in_calls_that_start_and_complete_a_collective_under_mpi() {
    let prepared = Prepared::new();
    let text = prepared.run_with_summary("late", &[]);
    let rows = unserved_rows(&text);
    let told = told(&text, "took ");
    let names: Vec<_> = rows.iter().map(|row| row.name.as_str()).collect();
    let told_names: Vec<_> = told.iter().map(|words| words[0]).collect();
    assert_eq!(names, told_names, "{text}");
    for (row, words) in rows.iter().zip(&told) {
        // The program's clock is read outside the summary's, which has microseconds. In between a rank may have to wait
        // for its core; the other rank is late by 100 ms.
        let took: f64 = words[1].parse().expect("seconds");
        let is_plausible = row.seconds >= took - 0.02 && row.seconds <= took + 1e-6;
        assert!(is_plausible, "{row:?} of {took} s in\n{text}");
    }
    let longest = rows.iter().map(|row| row.seconds).fold(0.0, f64::max);
    assert!(longest > 0.02, "nobody has waited: {text}");
    let all: f64 = rows.iter().map(|row| row.seconds).sum();
    let served = told_seconds(&text);
    for row in &rows {
        let percent = row.seconds / (all + served) * 100.0;
        assert!((row.percent - percent).abs() < 0.2, "{row:?} in\n{text}");
    }
}

/// The time in the collectives that are served.
fn told_seconds(text: &str) -> f64 {
    let together = told(text, "colltune: together ");
    let seconds = together.first().map(|words| words[1].parse());
    seconds.expect(text).expect(text)
}

#[test]
fn nothing_is_added_for_served_collectives_and_without_a_summary_under_mpi() {
    let prepared = Prepared::new();
    let text = prepared.run_with_summary("none", &[]);
    // All collectives are counted, on one rank too.
    let counted = "colltune: calls: 5 by the table's rules, 2 default (one rank)";
    assert!(text.contains(counted), "{text}");
    assert!(!text.contains("not served"), "{text}");
    for more in [("COLLTUNE_LOG", "0"), ("COLLTUNE_DISABLE", "1")] {
        for what in ["all", "strain"] {
            let quiet = prepared.run(what, &[], &[more]);
            assert!(!quiet.contains("colltune: "), "{quiet}");
        }
    }
}

#[test]
fn fortran_programs_are_counted_under_mpi() {
    let prepared = Prepared::new();
    let Some(program) = compiled_fortran("counted.f90", &[], prepared.folder.path()) else {
        return;
    };
    let log = prepared.folder.path().join("log");
    let more = [("COLLTUNE_LOG", log.to_str().expect("a path"))];
    let text = run_preloaded(&program, &[], 2, &prepared.table, &more).expect_success();
    assert!(text.contains("Fortran agrees"), "{text}");
    let summary = std::fs::read_to_string(&log).expect("a summary");
    let rows = unserved_rows(&summary);
    let counted: Vec<_> = rows
        .iter()
        .map(|row| (row.name.as_str(), row.calls))
        .collect();
    let expected = [("ibcast", 3), ("iallreduce", 1)];
    assert_eq!(counted, expected, "{summary}");
}

//! The rows read from a file of any format.

use std::collections::BTreeSet;
use std::path::PathBuf;

use files::{MOST_QUOTED, quoted};
use schemars::JsonSchema;
use serde::Serialize;
use vocabulary::{Candidate, Cell, Warning};

/// A measured time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    /// The line number, from 1.
    pub(crate) line: u64,
    /// The launch, as numbered in the file.
    pub(crate) launch: u32,
    pub(crate) cell: Cell,
    pub(crate) candidate: Candidate,
    /// The time of one repetition, or the mean of several.
    pub(crate) seconds: f64,
}

/// A line of a file that is not imported.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Skipped {
    /// The file.
    pub file: PathBuf,
    /// The line number, from 1.
    pub line: u64,
    /// The content of the line, or the reason why it is left out.
    pub what: String,
}

/// The content of a file.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) rows: Vec<Row>,
    /// The lines that are left out, with reasons.
    pub(crate) skipped: Vec<(u64, String)>,
    pub(crate) warnings: BTreeSet<Warning>,
}

impl Reading {
    /// Adds a time of the library's default, or skips the line for the reason that is given instead of the cell.
    pub(crate) fn add(&mut self, line: u64, launch: u32, cell: Result<Cell, String>, seconds: f64) {
        match cell {
            Ok(cell) => self.rows.push(Row {
                line,
                launch,
                cell,
                candidate: Candidate::Default,
                seconds,
            }),
            Err(why) => self.skip(line, why),
        }
    }

    pub(crate) fn skip(&mut self, line: u64, what: impl AsRef<str>) {
        let what = quoted(what.as_ref(), 2 * MOST_QUOTED);
        self.skipped.push((line, what));
    }
}

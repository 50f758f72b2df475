//! The rows read from a file of any format.

use std::collections::BTreeSet;
use std::path::PathBuf;

use files::{MOST_QUOTED, quoted};
use schemars::JsonSchema;
use serde::Serialize;
use vocabulary::{Candidate, Cell, Warning};

use crate::problem::LineProblem;

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

/// A part of a file that is not imported.
#[derive(Debug)]
pub(crate) struct LeftOut {
    pub(crate) line: u64,
    /// The content of the line, or the reason.
    pub(crate) what: String,
    /// What is wrong, if anything is.
    pub(crate) problem: Option<LineProblem>,
}

/// The content of a file.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) rows: Vec<Row>,
    /// The lines and tables that are left out, with reasons.
    pub(crate) skipped: Vec<LeftOut>,
    /// The lines of other programs among the rows.
    pub(crate) others: Vec<LeftOut>,
    /// The line of the first table that is left out because it belongs to another shape.
    pub(crate) other_shapes: Option<u64>,
    pub(crate) warnings: BTreeSet<Warning>,
}

impl Reading {
    /// Adds rows, or leaves them out for the reasons that are given instead of their cells.
    pub(crate) fn add_row(
        &mut self,
        line: u64,
        launch: u32,
        cell: Result<Cell, String>,
        seconds: f64,
    ) {
        match cell {
            Ok(cell) => self.rows.push(Row {
                line,
                launch,
                cell,
                candidate: Candidate::Default,
                seconds,
            }),
            Err(why) => self.skip_line(line, why),
        }
    }

    /// Leaves out a line.
    pub(crate) fn skip_line(&mut self, line: u64, what: impl AsRef<str>) {
        let what = quoted(what.as_ref(), 2 * MOST_QUOTED);
        self.skipped.push(LeftOut {
            line,
            what,
            problem: None,
        });
    }

    /// Leaves out a line or a table that has a fault.
    pub(crate) fn refuse(&mut self, line: u64, problem: LineProblem) {
        if matches!(problem, LineProblem::Said { .. }) {
            self.other_shapes.get_or_insert(line);
        }
        self.skipped.push(LeftOut {
            line,
            what: quoted(&problem.to_string(), 2 * MOST_QUOTED),
            problem: Some(problem),
        });
    }

    /// Notes a line of another program among the rows.
    pub(crate) fn note_other_line(&mut self, line: u64, text: &str) {
        self.others.push(LeftOut {
            line,
            what: quoted(text, 2 * MOST_QUOTED),
            problem: None,
        });
    }
}

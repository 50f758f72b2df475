//! What is read from a file, whatever its form.

use std::collections::BTreeSet;

use serde::Serialize;
use vocabulary::{Candidate, Cell, Warning};

/// One time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// Where it stands, from 1.
    pub(super) line: u64,
    /// The launch, in the file's own numbers.
    pub(super) launch: u32,
    pub(super) cell: Cell,
    pub(super) candidate: Candidate,
    /// A repetition, or the mean of several.
    pub(super) seconds: f64,
}

/// Something in a file that is not imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Where it stands, from 1.
    pub line: u64,
    /// What it is and why it is left out.
    pub what: String,
}

/// All that was found in a file.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) rows: Vec<Row>,
    pub(super) skipped: Vec<Skipped>,
    pub(super) warnings: BTreeSet<Warning>,
}

impl Reading {
    pub(super) fn skip(&mut self, line: u64, what: impl Into<String>) {
        let what = what.into();
        self.skipped.push(Skipped { line, what });
    }
}

//! What is read from a file, whatever its form.

use std::collections::BTreeSet;
use std::path::PathBuf;

use files::{MOST_QUOTED, quoted};
use schemars::JsonSchema;
use serde::Serialize;
use vocabulary::{Candidate, Cell, Warning};

/// One time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    /// Where it stands, from 1.
    pub(crate) line: u64,
    /// The launch, in the file's own numbers.
    pub(crate) launch: u32,
    pub(crate) cell: Cell,
    pub(crate) candidate: Candidate,
    /// A repetition, or the mean of several.
    pub(crate) seconds: f64,
}

/// Something in a file that is not imported.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Skipped {
    /// The file.
    pub file: PathBuf,
    /// Where it stands, from 1.
    pub line: u64,
    /// What it is and why it is left out.
    pub what: String,
}

/// All that was found in a file.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) rows: Vec<Row>,
    /// The lines that are left out, and why.
    pub(crate) skipped: Vec<(u64, String)>,
    pub(crate) warnings: BTreeSet<Warning>,
}

impl Reading {
    pub(crate) fn skip(&mut self, line: u64, what: impl AsRef<str>) {
        let what = quoted(what.as_ref(), 2 * MOST_QUOTED);
        self.skipped.push((line, what));
    }
}

//! Tables of simulated times.

use std::fmt::Write;

use schedule::Algorithm;
use schemars::JsonSchema;
use serde::Serialize;
use vocabulary::CommShape;
use vocabulary::units::{format_bytes, format_seconds};

use super::point::{Call, Point};
use crate::commands::grid::grid;

/// The result at one point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) algorithm: &'static Algorithm,
    pub(super) nodes: u32,
    pub(super) ppn: u32,
    pub(super) ranks: u32,
    pub(super) bytes: u64,
    /// The number of blocks, the size of the largest, and the source of the number (`given`, `lemma`, `search`), for
    /// algorithms that take blocks.
    pub(super) blocks: Option<(u32, u64, &'static str)>,
    pub(super) seconds: f64,
    pub(super) closed_form_seconds: Option<f64>,
    pub(super) messages: u64,
}

/// A point that was left out.
pub(super) struct Skipped {
    pub(super) point: Point,
    pub(super) reason: String,
}

impl Row {
    /// The shape, with a note if a node has fewer ranks than the others.
    fn shape(&self) -> String {
        let Self {
            nodes, ppn, ranks, ..
        } = *self;
        let is_full = u64::from(nodes) * u64::from(ppn) == u64::from(ranks);
        let note = if is_full { "" } else { ", not full" };
        format!("{nodes}x{ppn}{note}")
    }
}

/// Sorts rows by communicator and size, the fastest first.
pub(super) fn sort(rows: &mut [Row]) {
    rows.sort_by(|a, b| {
        let call = |row: &Row| (row.algorithm.collective, row.ranks, row.nodes, row.bytes);
        call(a).cmp(&call(b)).then(a.seconds.total_cmp(&b.seconds))
    });
}

pub(super) fn to_table(rows: &[Row]) -> String {
    let row = |row: &Row| {
        [
            row.algorithm.name(),
            row.ranks.to_string(),
            row.shape(),
            format_bytes(row.bytes),
            row.blocks
                .map_or_else(String::new, |(blocks, ..)| blocks.to_string()),
            format_seconds(row.seconds),
            row.closed_form_seconds
                .map_or_else(|| "-".to_owned(), format_seconds),
        ]
    };
    let columns = [
        "algorithm",
        "ranks>",
        "shape",
        "bytes>",
        "blocks>",
        "time>",
        "closed form>",
    ];
    grid(columns, rows.iter().map(row))
}

pub(super) fn to_csv(call: &Call<'_>, rows: &[Row]) -> String {
    let machine = call.machine.name.replace('"', "\"\"");
    let mut csv = String::from(
        "collective,algorithm,nodes,ppn,ranks,bytes,blocks,block_bytes,blocks_by,seconds,\
         closed_form_seconds,messages,machine\n",
    );
    for row in rows {
        let (blocks, size, by) = match row.blocks {
            Some((blocks, size, by)) => (blocks.to_string(), size.to_string(), by),
            None => Default::default(),
        };
        let closed_form = row
            .closed_form_seconds
            .map_or_else(String::new, |s| format!("{s:e}"));
        let _ = writeln!(
            csv,
            "{},{},{},{},{},{},{blocks},{size},{by},{:e},{closed_form},{},\"{machine}\"",
            row.algorithm.collective,
            row.algorithm.id,
            row.nodes,
            row.ppn,
            row.ranks,
            row.bytes,
            row.seconds,
            row.messages
        );
    }
    csv
}

/// The output of `--json`.
#[derive(JsonSchema, Serialize)]
pub(in crate::commands) struct Answers<'a> {
    /// The machine's name.
    machine: &'a str,
    placement: &'static str,
    /// Size of an element in a reduction.
    element_bytes: u64,
    results: Vec<Simulated>,
    /// The calls that were left out.
    skipped: Vec<SkippedParts<'a>>,
}

/// The result of one algorithm in one call.
#[derive(JsonSchema, Serialize)]
struct Simulated {
    collective: &'static str,
    /// Bare id.
    algorithm: &'static str,
    #[serde(flatten)]
    shape: CommShape,
    ranks: u32,
    /// Size of the call in bytes.
    bytes: u64,
    /// The number of blocks; null if the algorithm takes none.
    blocks: Option<u32>,
    /// Size of the largest block.
    block_bytes: Option<u64>,
    /// The source of the number of blocks: `given`, `lemma` or `search`.
    blocks_by: Option<&'static str>,
    seconds: f64,
    /// The closed form's time; null if there is none.
    closed_form_seconds: Option<f64>,
    /// The number of messages.
    messages: u64,
}

/// A call that was left out.
#[derive(JsonSchema, Serialize)]
struct SkippedParts<'a> {
    algorithm: &'static str,
    ranks: u64,
    bytes: u64,
    reason: &'a str,
}

impl<'a> Answers<'a> {
    pub(super) fn of(call: &Call<'a>, rows: &[Row], skipped: &'a [Skipped]) -> Self {
        let result = |row: &Row| Simulated {
            collective: row.algorithm.collective.name(),
            algorithm: row.algorithm.id,
            shape: CommShape {
                nodes: row.nodes,
                ppn: row.ppn,
            },
            ranks: row.ranks,
            bytes: row.bytes,
            blocks: row.blocks.map(|(blocks, ..)| blocks),
            block_bytes: row.blocks.map(|(_, bytes, _)| bytes),
            blocks_by: row.blocks.map(|(.., by)| by),
            seconds: row.seconds,
            closed_form_seconds: row.closed_form_seconds,
            messages: row.messages,
        };
        let skip = |Skipped { point, reason }: &'a Skipped| SkippedParts {
            algorithm: point.algorithm.id,
            ranks: point.ranks,
            bytes: point.bytes,
            reason,
        };
        Self {
            machine: &call.machine.name,
            placement: call.placement.name(),
            element_bytes: call.element_bytes,
            results: rows.iter().map(result).collect(),
            skipped: skipped.iter().map(skip).collect(),
        }
    }
}

/// The reasons why points were left out, each once.
pub(super) fn reasons(skipped: &[Skipped]) -> Vec<String> {
    let mut reasons: Vec<String> = Vec::new();
    for Skipped { reason, .. } in skipped {
        let reason = format!("left out: {reason}");
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons
}

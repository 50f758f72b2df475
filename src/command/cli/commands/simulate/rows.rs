//! Tables of simulated times.

use std::fmt::Write;

use report::text_table;
use schedule::{Algorithm, Collective};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use vocabulary::CommShape;
use vocabulary::units::{format_bytes, format_seconds};

use super::point::{CommonCall, SimulationPoint};

/// The result of one algorithm in one call.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
pub(in crate::commands) struct SimulationRow {
    /// Name of the collective, as in `allreduce`.
    #[schemars(schema_with = "vocabulary::collective_name::list_in_schema")]
    pub(super) collective: &'static str,
    /// Bare id.
    #[serde(rename = "algorithm", serialize_with = "serialize_algorithm_id")]
    #[schemars(with = "String")]
    pub(super) algorithm: &'static Algorithm,
    #[serde(flatten)]
    pub(super) shape: CommShape,
    /// The number of ranks in the communicator.
    pub(super) ranks: u32,
    /// Size of the call in bytes.
    pub(super) bytes: u64,
    /// The number of blocks; null if the algorithm takes none.
    pub(super) blocks: Option<u32>,
    /// Size of the largest block.
    pub(super) block_bytes: Option<u64>,
    /// The source of the number of blocks: `given`, `lemma` or `search`.
    pub(super) blocks_by: Option<&'static str>,
    /// The simulated time.
    pub(super) seconds: f64,
    /// The closed form's time; null if there is none.
    pub(super) closed_form_seconds: Option<f64>,
    /// The number of messages.
    pub(super) messages: u64,
}

fn serialize_algorithm_id<S: Serializer>(algorithm: &Algorithm, to: S) -> Result<S::Ok, S::Error> {
    algorithm.id.serialize(to)
}

/// A call that was left out.
#[derive(JsonSchema, Serialize)]
pub(in crate::commands) struct SkippedCall {
    /// Bare id.
    pub(super) algorithm: &'static str,
    /// The number of ranks in the communicator.
    pub(super) ranks: u64,
    /// Size of the call in bytes.
    pub(super) bytes: u64,
    /// The reason why it was left out, as a sentence without a full stop.
    pub(super) reason: String,
    /// The closed form's time if the simulation would take too long; null if there is none, or another reason.
    pub(super) closed_form_seconds: Option<f64>,
}

/// The output of `--json`.
#[derive(JsonSchema, Serialize)]
pub(in crate::commands) struct SimulateOutput<'a> {
    /// The machine's name.
    pub(super) machine: &'a str,
    /// The placement of ranks on nodes: `block` or `cyclic`.
    pub(super) placement: &'static str,
    /// Size of an element in a reduction.
    pub(super) element_bytes: u64,
    /// The simulated calls.
    pub(super) results: &'a [SimulationRow],
    /// The calls that were left out.
    pub(super) skipped: &'a [SkippedCall],
}

/// A shape, with a note if a node has fewer ranks than the others.
fn shape_text(shape: CommShape, ranks: u64) -> String {
    let is_full = u64::from(shape.nodes) * u64::from(shape.ppn) == ranks;
    let note = if is_full { "" } else { ", not full" };
    format!("{shape}{note}")
}

/// A table whose rows are printed as they come.
pub(super) struct PrintedColumns {
    /// The heading of each column, its width, and whether it has numbers, which are flush right.
    columns: [(&'static str, usize, bool); 7],
}

impl PrintedColumns {
    /// Columns that are wide enough for these points.
    pub(super) fn for_points(points: &[SimulationPoint]) -> Self {
        let widest = |text: fn(&SimulationPoint) -> String| {
            let widths = points.iter().map(|point| text(point).len());
            widths.max().unwrap_or_default()
        };
        let width = |heading: &'static str, width: usize, is_number: bool| {
            (heading, width.max(heading.len()), is_number)
        };
        let shape = |point: &SimulationPoint| shape_text(point.shape(), point.ranks);
        let columns = [
            width("algorithm", widest(|point| point.algorithm.name()), false),
            width("ranks", widest(|point| point.ranks.to_string()), true),
            width("shape", widest(shape), false),
            width("bytes", widest(|point| format_bytes(point.bytes)), true),
            // The widest number of blocks and the widest time that are likely.
            width("blocks", 7, true),
            width("time", 8, true),
            width("closed form", 0, true),
        ];
        Self { columns }
    }

    fn format_line(&self, cells: &[String]) -> String {
        let cells = cells.iter().zip(&self.columns);
        let cells = cells.map(|(cell, &(_, width, is_number))| {
            if is_number {
                format!("{cell:>width$}")
            } else {
                format!("{cell:<width$}")
            }
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        line.trim_end().to_owned()
    }

    pub(super) fn heading(&self) -> String {
        self.format_line(&self.columns.map(|(heading, ..)| heading.to_owned()))
    }

    pub(super) fn format_row(&self, row: &SimulationRow) -> String {
        self.format_line(&row_cells(row))
    }
}

/// The fastest algorithm of each call for which there are several, a line each.
pub(super) fn describe_fastest(sorted: &[SimulationRow]) -> Vec<String> {
    let calls = sorted.chunk_by(|a, b| a.call_key() == b.call_key());
    let several: Vec<&[SimulationRow]> = calls.filter(|rows| rows.len() > 1).collect();
    let lines = several.iter().map(|rows| {
        let SimulationRow {
            algorithm,
            ranks,
            bytes,
            seconds,
            ..
        } = rows[0];
        let on = match several.len() {
            1 => String::new(),
            _ => format!(" of {} on {ranks} ranks", format_bytes(bytes)),
        };
        let (name, time) = (algorithm.name(), format_seconds(seconds));
        format!("Fastest{on}: {name}, {time}")
    });
    lines.collect()
}

impl SimulationRow {
    /// What the call is, without the algorithm.
    fn call_key(&self) -> (Collective, u32, u32, u64) {
        let SimulationRow {
            algorithm,
            ranks,
            shape,
            bytes,
            ..
        } = *self;
        (algorithm.collective, ranks, shape.nodes, bytes)
    }
}

/// Sorts rows by communicator and size, the fastest first.
pub(super) fn sort_by_call(rows: &mut [SimulationRow]) {
    rows.sort_by(|a, b| {
        let calls = a.call_key().cmp(&b.call_key());
        calls.then(a.seconds.total_cmp(&b.seconds))
    });
}

/// The cells of a row of the table.
fn row_cells(row: &SimulationRow) -> [String; 7] {
    [
        row.algorithm.name(),
        row.ranks.to_string(),
        shape_text(row.shape, row.ranks.into()),
        format_bytes(row.bytes),
        row.blocks
            .map_or_else(String::new, |blocks| blocks.to_string()),
        format_seconds(row.seconds),
        row.closed_form_seconds
            .map_or_else(|| "-".to_owned(), format_seconds),
    ]
}

pub(super) fn to_table(rows: &[SimulationRow]) -> String {
    let columns = "algorithm | ranks> | shape | bytes> | blocks> | time> | closed form>";
    text_table(columns, rows.iter().map(row_cells)).to_text()
}

pub(super) fn to_csv(call: &CommonCall<'_>, rows: &[SimulationRow]) -> String {
    let machine = call.machine.name.replace('"', "\"\"");
    let mut csv = String::from(
        "collective,algorithm,nodes,ppn,ranks,bytes,blocks,block_bytes,blocks_by,seconds,\
         closed_form_seconds,messages,machine\n",
    );
    for row in rows {
        let text = |number: Option<u64>| number.map_or_else(String::new, |n| n.to_string());
        let [blocks, size] = [row.blocks.map(u64::from), row.block_bytes].map(text);
        let by = row.blocks_by.unwrap_or_default();
        let closed_form = row
            .closed_form_seconds
            .map_or_else(String::new, |s| format!("{s:e}"));
        let _ = writeln!(
            csv,
            "{},{},{},{},{},{},{blocks},{size},{by},{:e},{closed_form},{},\"{machine}\"",
            row.collective,
            row.algorithm.id,
            row.shape.nodes,
            row.shape.ppn,
            row.ranks,
            row.bytes,
            row.seconds,
            row.messages
        );
    }
    csv
}

/// The reasons why points were left out, each once.
pub(super) fn distinct_reasons(skipped: &[SkippedCall]) -> Vec<String> {
    let mut reasons: Vec<String> = Vec::new();
    for SkippedCall { reason, .. } in skipped {
        let reason = format!("left out: {reason}");
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons
}

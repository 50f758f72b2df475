//! Tables of simulated times.

use std::fmt::Write;

use report::grid;
use schedule::Algorithm;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use vocabulary::CommShape;
use vocabulary::units::{format_bytes, format_seconds};

use super::point::Call;

/// The result of one algorithm in one call.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
pub(in crate::commands) struct Row {
    /// Name of the collective, as in `allreduce`.
    pub(super) collective: &'static str,
    /// Bare id.
    #[serde(rename = "algorithm", serialize_with = "id")]
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

fn id<S: Serializer>(algorithm: &Algorithm, to: S) -> Result<S::Ok, S::Error> {
    algorithm.id.serialize(to)
}

/// A call that was left out.
#[derive(JsonSchema, Serialize)]
pub(in crate::commands) struct Skipped {
    /// Bare id.
    pub(super) algorithm: &'static str,
    /// The number of ranks in the communicator.
    pub(super) ranks: u64,
    /// Size of the call in bytes.
    pub(super) bytes: u64,
    /// The reason why it was left out, as a sentence without a full stop.
    pub(super) reason: String,
}

/// The output of `--json`.
#[derive(JsonSchema, Serialize)]
pub(in crate::commands) struct Answers<'a> {
    /// The machine's name.
    pub(super) machine: &'a str,
    /// The placement of ranks on nodes: `block` or `cyclic`.
    pub(super) placement: &'static str,
    /// Size of an element in a reduction.
    pub(super) element_bytes: u64,
    /// The simulated calls.
    pub(super) results: &'a [Row],
    /// The calls that were left out.
    pub(super) skipped: &'a [Skipped],
}

impl Row {
    /// The shape, with a note if a node has fewer ranks than the others.
    fn shape(&self) -> String {
        let CommShape { nodes, ppn } = self.shape;
        let is_full = u64::from(nodes) * u64::from(ppn) == u64::from(self.ranks);
        let note = if is_full { "" } else { ", not full" };
        format!("{}{note}", self.shape)
    }
}

/// Sorts rows by communicator and size, the fastest first.
pub(super) fn sort(rows: &mut [Row]) {
    rows.sort_by(|a, b| {
        let call = |row: &Row| {
            let Row {
                algorithm,
                ranks,
                shape,
                bytes,
                ..
            } = *row;
            (algorithm.collective, ranks, shape.nodes, bytes)
        };
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
                .map_or_else(String::new, |blocks| blocks.to_string()),
            format_seconds(row.seconds),
            row.closed_form_seconds
                .map_or_else(|| "-".to_owned(), format_seconds),
        ]
    };
    let columns = "algorithm | ranks> | shape | bytes> | blocks> | time> | closed form>";
    grid(columns, rows.iter().map(row)).text()
}

pub(super) fn to_csv(call: &Call<'_>, rows: &[Row]) -> String {
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

//! A table as a C header: constants, and the lookup.

mod lookup;
mod reader;

use std::fmt::Write as _;

use schedule::Collective;
use table::{Deployment, OperatorClass, Rule, RuleSource, ShapeRules, Table};
use vocabulary::{Parameters, RankOrder};

use crate::{ExportError, Exported, Format, Options, header};

pub use reader::{Header, HeaderRow, read_header};

/// A header in C99 without dependencies.
#[derive(Clone, Copy, Debug)]
pub struct CHeader;

impl Format for CHeader {
    fn name(&self) -> &'static str {
        "c-header"
    }

    fn suffix(&self) -> &'static str {
        "h"
    }

    fn releases(&self) -> &'static str {
        "C99 and later"
    }

    fn has_all_candidates(&self) -> bool {
        true
    }

    fn render_deployed(
        &self,
        table: &Table,
        notes: Vec<String>,
        options: &Options,
    ) -> Result<Exported, ExportError> {
        if let Some(version) = &options.version {
            return Err(ExportError::UnknownRelease {
                format: self.name(),
                version: version.clone(),
                known: self.releases(),
            });
        }
        if options.stock {
            let why = format!("files of the format `{}` are for any library", self.name());
            return Err(ExportError::NeedlessStock(why));
        }
        if let [shape, ..] = options.assume_shapes[..] {
            let message = format!("files of the format `{}` distinguish shapes", self.name());
            return Err(ExportError::Shape { shape, message });
        }
        let extrapolate = options.policy.extrapolate;
        let mut table = table.clone();
        for collective in Collective::ALL {
            let interpolated = table.interpolated_entries(collective);
            if let Some(entries) = table.collectives.get_mut(&collective) {
                entries.extend(interpolated);
            }
        }
        let text = header_text(&table, extrapolate, &notes);
        let expected = Header {
            extrapolate,
            rows: expected_rows(&table),
        };
        if reader::read_header(&text)? != expected {
            let what = "the header does not have the table's rules".to_owned();
            return Err(ExportError::Unfaithful(what));
        }
        Ok(Exported {
            text,
            companion: None,
            variables: Vec::new(),
            notes,
            decides: crate::makes_choices(&table),
        })
    }

    fn validate(&self, text: &str, _: &Options) -> Result<(), ExportError> {
        reader::read_header(text).map(drop)
    }
}

/// The rows of a table, for comparison with those read back.
fn expected_rows(table: &Table) -> Vec<HeaderRow> {
    let entries = table
        .collectives
        .iter()
        .flat_map(|(collective, entries)| entries.iter().map(move |entry| (*collective, entry)));
    let of_entry = |(collective, entry): (Collective, &ShapeRules)| {
        let (operators, deployments) = operator_and_deployment_masks(collective, entry);
        let row = |rule: &Rule| HeaderRow {
            collective: collective_constant(collective),
            nodes: entry.shape.nodes,
            ppn: entry.shape.ppn,
            order: order_constant(entry),
            operators,
            deployments,
            from_bytes: rule.from_bytes,
            candidate: rule.candidate.to_string(),
        };
        entry.rules.iter().map(row).collect::<Vec<_>>()
    };
    entries.flat_map(of_entry).collect()
}

fn header_text(table: &Table, extrapolate: bool, notes: &[String]) -> String {
    let purpose = "Which algorithm to use for a collective of MPI.".to_owned();
    let head = header::head_text(purpose, table, " * ") + &header::wrap_comment(notes, " * ");
    let mut text = format!("/*\n{} */\n", in_comment(&head));
    text += lookup::BEFORE;
    text += "enum colltune_collective {\n";
    for collective in Collective::ALL {
        let size = table::message_size(collective);
        // Writing to a string cannot fail.
        _ = writeln!(
            text,
            "    {}, /* size: {size} */",
            collective_constant(collective)
        );
    }
    text += "};\n\n";
    text += lookup::TYPES;
    _ = writeln!(
        text,
        "/* Whether the nearest measured shape is used for shapes that were not measured. */\n\
         enum {{ {} = {} }};\n",
        reader::EXTRAPOLATE,
        u32::from(extrapolate)
    );
    text += "static const struct colltune_choice colltune_choices[] = {\n";
    for rule in table.entries().flat_map(|entry| &entry.rules) {
        _ = writeln!(text, "    {{{}}},", choice_fields(rule));
    }
    // Arrays must not be empty.
    text += "    {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}\n};\n\n";
    text += "static const struct colltune_entry colltune_entries[] = {\n";
    let mut first = 0;
    for (collective, entries) in &table.collectives {
        for entry in entries {
            let (operators, deployments) = operator_and_deployment_masks(*collective, entry);
            _ = writeln!(
                text,
                "    {{{}, {}, {}, {}, {operators}, {deployments}, {first}, {}}},",
                collective_constant(*collective),
                entry.shape.nodes,
                entry.shape.ppn,
                order_constant(entry),
                entry.rules.len()
            );
            first += entry.rules.len();
        }
    }
    text += "    {0, 0, 0, 0, 0, 0, 0, 0}\n};\n\n";
    text + lookup::AFTER
}

/// The text without what ends a comment, or what compilers warn of in one: the begin of another, and the trigraph of `\`.
fn in_comment(text: &str) -> String {
    text.replace("*/", "* /")
        .replace("/*", "/ *")
        .replace("??/", "? ?/")
}

/// The constant of a collective, as in `COLLTUNE_REDUCE_SCATTER`.
fn collective_constant(collective: Collective) -> String {
    format!("COLLTUNE_{}", collective.name().to_uppercase())
}

/// The order of an entry's ranks as a constant of the header; 0 where it is unknown or makes no difference.
fn order_constant(entry: &ShapeRules) -> u32 {
    match entry.order.known_on_shape(entry.shape) {
        None | Some(RankOrder::Unknown) => 0,
        Some(RankOrder::Block) => 1,
        Some(RankOrder::Cyclic) => 2,
        Some(RankOrder::Other) => 3,
    }
}

/// The operators and the deployments of an entry as bit masks; the latter has a bit for interpolated entries.
fn operator_and_deployment_masks(collective: Collective, entry: &ShapeRules) -> (u32, u32) {
    let covers = |class| !collective.is_reduction() || entry.operators.hold_for(class);
    let bits = |holds: [bool; 2]| u32::from(holds[0]) + 2 * u32::from(holds[1]);
    (
        bits(OperatorClass::ALL.map(covers)),
        bits(Deployment::ALL.map(|deployment| entry.deployments.hold_for(deployment)))
            + 4 * u32::from(entry.source == RuleSource::Interpolated),
    )
}

/// The fields of a choice, in the order of the structure.
fn choice_fields(rule: &Rule) -> String {
    let Parameters {
        block_bytes,
        blocks,
        radix,
        reduce,
        bcast,
        node,
        network,
        leaders_per_node,
        max_requests,
        segment_bytes,
        fanout,
        through,
    } = rule.candidate.parameters();
    let text =
        |text: Option<String>| text.map_or_else(|| "0".to_owned(), |text| c_string_literal(&text));
    [
        format!("UINT64_C({})", rule.from_bytes),
        c_string_literal(&rule.candidate.to_string()),
        c_string_literal(rule.candidate.algorithm()),
        format!("UINT64_C({})", block_bytes.unwrap_or(0)),
        blocks.unwrap_or(0).to_string(),
        radix.unwrap_or(0).to_string(),
        text(reduce),
        text(bcast),
        text(node),
        text(network),
        leaders_per_node.unwrap_or(0).to_string(),
        max_requests.unwrap_or(0).to_string(),
        format!("UINT64_C({})", segment_bytes.unwrap_or(0)),
        fanout.unwrap_or(0).to_string(),
        text((!through.is_mpi()).then(|| through.name().to_owned())),
    ]
    .join(", ")
}

/// A C string literal; special characters, and those that could make a trigraph, are octal bytes.
fn c_string_literal(text: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | b'?' | 0..=b'\x1f' | 0x7f.. => _ = write!(quoted, "\\{byte:03o}"),
            _ => quoted.push(char::from(byte)),
        }
    }
    quoted + "\""
}

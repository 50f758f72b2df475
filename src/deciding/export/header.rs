//! The head of an exported file: purpose and origin.

use printable::on_one_line;
use table::Table;
use vocabulary::units::format_counted;

/// The text at the top of a file made from a table: its purpose, the table's origin, and the table's warnings, one per
/// line.
pub(crate) fn head_text(purpose: String, table: &Table, prefix: &str) -> String {
    let provenance = &table.provenance;
    let hosts = format_counted(provenance.hosts.len(), "host");
    let nodes: Vec<_> = [&provenance.cpu]
        .into_iter()
        .chain(&provenance.networks)
        .cloned()
        .collect();
    let date = on_one_line(&provenance.date);
    let origin = if provenance.has_launches() {
        format!(
            "Measured with {} on {hosts} ({}), {}, last on {date}.",
            provenance.library,
            on_one_line(&nodes.join(", ")),
            format_counted(provenance.launches, "launch"),
        )
    } else {
        format!(
            "Made for {} on {date}, without launches.",
            provenance.library
        )
    };
    let paragraphs = [
        purpose,
        format!(
            "Written by colltune {} from its table {}: do not edit, export or deploy the table again.",
            env!("CARGO_PKG_VERSION"),
            on_one_line(&table.name)
        ),
        origin,
    ];
    let mut text = wrap_comment(&paragraphs, prefix);
    if provenance.has_launches() {
        let campaign = format!("Campaign {}.", on_one_line(&provenance.campaign));
        text += &wrap_comment(&[campaign], prefix);
    }
    for warning in &provenance.warnings {
        text += &format!("{prefix}WARNING: {}\n", on_one_line(warning));
    }
    text
}

/// Paragraphs as comments, each line beginning with `prefix`.
pub(crate) fn wrap_comment(paragraphs: &[String], prefix: &str) -> String {
    let mut text = String::new();
    for paragraph in paragraphs {
        let mut line = prefix.trim_end().to_owned();
        for word in on_one_line(paragraph)
            .split(' ')
            .filter(|word| !word.is_empty())
        {
            if line.len() > prefix.len() && line.len() + 1 + word.len() > WIDTH {
                text += &(line + "\n");
                line = prefix.trim_end().to_owned();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line += word;
        }
        text += &(line + "\n");
    }
    text
}

/// The width at which lines are wrapped.
const WIDTH: usize = 100;

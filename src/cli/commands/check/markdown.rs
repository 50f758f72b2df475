//! A summary for a merge request.

use super::super::guarded::name_of;
use super::{Found, row};

/// The answer, why, and a table of all points.
pub(super) fn render(found: &Found<'_>) -> String {
    let mut text = format!(
        "## colltune check: {}\n\n{}\n",
        found.table.display(),
        found.verdict()
    );
    for remark in found.silence().into_iter().chain(found.probes()) {
        text += &format!("\n{remark}\n");
    }
    let wrong = found
        .checked
        .points
        .iter()
        .filter(|point| point.is_regression());
    let mut reasons = String::new();
    for checked in wrong {
        let name = name_of(&checked.point);
        for reason in checked.reasons() {
            reasons += &format!("- **{name}**: {}.\n", in_a_cell(&reason));
        }
    }
    if !reasons.is_empty() {
        text += &format!("\n{reasons}");
    }
    text += "\n| point | | chosen | now | in the table | default | runner-up |\n";
    text += "|---|---|---|--:|--:|--:|--:|\n";
    for checked in &found.checked.points {
        let mut row = row(checked);
        row[2] = format!("`{}`", row[2]);
        text += &format!("| {} |\n", row.join(" | "));
    }
    text
}

/// Messages of programs may have lines and bars.
fn in_a_cell(text: &str) -> String {
    text.replace(['\n', '\r'], " ").replace('|', "\\|")
}

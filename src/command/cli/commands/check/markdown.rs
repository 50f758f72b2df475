//! A summary in Markdown, as for a merge request.

use report::{code, prose};

use super::super::guarded::name_of;
use super::{Found, grid};

/// The verdict, its reasons, and a table of all points.
pub(super) fn render(found: &Found<'_>) -> String {
    let mut text = format!(
        "## colltune check: {}\n\n{}\n",
        prose(&found.table.display().to_string()),
        prose(&found.verdict())
    );
    for remark in found.unknown_rivals().into_iter().chain(found.probes()) {
        text += &format!("\n{}\n", prose(&remark));
    }
    let mut reasons = String::new();
    for checked in &found.checked.points {
        let name = name_of(&checked.point);
        for reason in checked.reasons().iter().chain(&checked.suspicions()) {
            reasons += &format!("- **{name}**: {}.\n", prose(reason));
        }
    }
    if !reasons.is_empty() {
        text += &format!("\n{reasons}");
    }
    let mut grid = grid(found);
    for row in &mut grid.rows {
        row[2] = code(&row[2]);
    }
    text + "\n" + grid.markdown().trim_end() + "\n"
}

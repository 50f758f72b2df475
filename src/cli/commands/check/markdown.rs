//! A summary in Markdown, as for a merge request.

use report::Alignment::{Left, Right};
use report::{code, grid, prose};

use super::super::guarded::name_of;
use super::{Found, row};

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
    let wrong = found
        .checked
        .points
        .iter()
        .filter(|point| point.is_regression());
    let mut reasons = String::new();
    for checked in wrong {
        let name = name_of(&checked.point);
        for reason in checked.reasons() {
            reasons += &format!("- **{name}**: {}.\n", prose(&reason));
        }
    }
    if !reasons.is_empty() {
        text += &format!("\n{reasons}");
    }
    let columns = [
        ("point", Left),
        ("", Left),
        ("chosen", Left),
        ("now", Right),
        ("in the table", Right),
        ("default", Right),
        ("runner-up", Right),
    ];
    let rows = found.checked.points.iter().map(|checked| {
        let mut row = row(checked);
        row[2] = code(&row[2]);
        row
    });
    text + "\n" + grid(columns, rows).markdown().trim_end() + "\n"
}

//! A summary for a merge request.

use super::super::guarded::{name_of, time};
use super::{Found, state};

/// The answer, why, and a table of all points.
pub(super) fn render(found: &Found<'_>) -> String {
    let mut text = format!(
        "## colltune check: {}\n\n{}\n",
        found.table.display(),
        found.verdict()
    );
    if let Some(silence) = found.silence() {
        text += &format!("\n{silence}\n");
    }
    let wrong = found
        .checked
        .points
        .iter()
        .filter(|point| point.is_regression());
    let mut wrong = wrong.peekable();
    if wrong.peek().is_some() {
        text.push('\n');
    }
    for checked in wrong {
        for reason in checked.reasons() {
            text += &format!(
                "- **{}**: {}.\n",
                name_of(&checked.point),
                in_a_cell(&reason)
            );
        }
    }
    text += "\n| point | | chosen | now | in the table | default | runner-up |\n";
    text += "|---|---|---|--:|--:|--:|--:|\n";
    for checked in &found.checked.points {
        let recorded = checked.point.recorded.map(|recorded| recorded.seconds);
        text += &format!(
            "| {} | {} | `{}` | {} | {} | {} | {} |\n",
            name_of(&checked.point),
            state(checked),
            checked.point.chosen,
            time(checked.seconds),
            time(recorded),
            time(checked.default_seconds),
            time(checked.runner_up_seconds)
        );
    }
    text
}

/// Messages of programs may have lines and bars.
fn in_a_cell(text: &str) -> String {
    text.replace(['\n', '\r'], " ").replace('|', "\\|")
}

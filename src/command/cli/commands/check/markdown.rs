//! A summary in Markdown, as for a merge request.

use report::{inline_code, markdown_prose};

use super::super::guarded::point_name;
use super::{CheckResults, points_table};

/// The verdict, its reasons, and a table of all points.
pub(super) fn render_check(found: &CheckResults<'_>) -> String {
    let mut text = format!(
        "## colltune check: {}\n\n{}\n",
        markdown_prose(&found.table.display().to_string()),
        markdown_prose(&found.verdict_sentence())
    );
    for remark in found
        .unknown_rivals_sentence()
        .into_iter()
        .chain(found.probes_sentence())
    {
        text += &format!("\n{}\n", markdown_prose(&remark));
    }
    let mut reasons = String::new();
    for checked in &found.outcome.checked.points {
        let name = point_name(&checked.point);
        for reason in checked
            .regression_reasons()
            .iter()
            .chain(&checked.open_suspicions())
        {
            reasons += &format!("- **{name}**: {}.\n", markdown_prose(reason));
        }
    }
    if !reasons.is_empty() {
        text += &format!("\n{reasons}");
    }
    let mut grid = points_table(found);
    for row in &mut grid.rows {
        row[2] = inline_code(&row[2]);
    }
    text + "\n" + grid.to_markdown().trim_end() + "\n"
}

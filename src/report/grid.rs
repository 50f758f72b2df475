//! Tables that are Markdown and can be read as they stand.

use std::fmt::Display;

use comfy_table::{CellAlignment, Table, presets};

/// Where a column's content stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Lays out rows under headed columns, and ends with an empty line.
pub(crate) fn grid<const N: usize>(
    columns: [(&str, Side); N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(columns.map(|(name, _)| name));
    table.add_rows(rows.into_iter().map(|row| row.map(escape)));
    for (column, (_, side)) in table.column_iter_mut().zip(columns) {
        column.set_cell_alignment(match side {
            Side::Left => CellAlignment::Left,
            Side::Right => CellAlignment::Right,
        });
    }
    let mut text = String::new();
    for (number, line) in table.lines().enumerate() {
        let line = if number == 1 {
            mark_sides(&line, &columns)
        } else {
            line
        };
        text.push_str(&line);
        text.push('\n');
    }
    text.push('\n');
    text
}

/// A cell must neither end its column nor its line.
fn escape(cell: String) -> String {
    cell.replace('|', "\\|").replace(['\n', '\r'], " ")
}

/// Tells Markdown the alignment: `|-----|` becomes `|----:|`.
fn mark_sides<N: Display>(separator: &str, columns: &[(N, Side)]) -> String {
    let dashes = separator.trim_matches('|').split('|').zip(columns);
    dashes.fold("|".to_owned(), |line, (dashes, (_, side))| match side {
        Side::Left => format!("{line}{dashes}|"),
        Side::Right => format!("{line}{}:|", &dashes[1..]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_cells_escaped() {
        let columns = [("bytes", Side::Right), ("candidate", Side::Left)];
        let rows = [["8", "a|b"], ["4096", "default\nor not"]];
        let text = grid(columns, rows.map(|row| row.map(str::to_owned)));
        let expected = "\
| bytes | candidate      |
|------:|----------------|
|     8 | a\\|b           |
|  4096 | default or not |

";
        assert_eq!(text, expected);
    }
}

//! Columns for people.

use comfy_table::{CellAlignment, Table, presets};

/// Rows under headed columns, without lines: the first column flush left, numbers flush right.
///
/// A column is one of numbers if its name ends with `>`, which is not shown.
pub(super) fn grid<const N: usize>(
    columns: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(columns.map(|name| name.trim_end_matches('>')));
    table.add_rows(rows);
    for (column, name) in table.column_iter_mut().zip(columns) {
        column.set_padding((0, 2));
        if name.ends_with('>') {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines: Vec<String> = table
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    lines.join("\n")
}

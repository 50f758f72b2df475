//! Columns for people.

use comfy_table::{CellAlignment, ColumnConstraint, Table, presets};

/// Rows under headed columns, without lines: the first column flush left, numbers flush right.
///
/// A column is one of numbers if its name ends with `>`, and left out if that ends with `?` and all
/// its cells are empty; neither mark is shown.
pub(super) fn grid<const N: usize>(
    columns: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let rows: Vec<[String; N]> = rows.into_iter().collect();
    let is_empty = |index: usize| rows.iter().all(|row| row[index].is_empty());
    let hidden: Vec<bool> = (0..)
        .zip(columns)
        .map(|(index, name)| name.ends_with('?') && is_empty(index))
        .collect();
    let columns = columns.map(|name| name.trim_end_matches('?'));
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(columns.map(|name| name.trim_end_matches('>')));
    table.add_rows(rows);
    for ((column, name), hidden) in table.column_iter_mut().zip(columns).zip(hidden) {
        if hidden {
            column.set_constraint(ColumnConstraint::Hidden);
        }
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

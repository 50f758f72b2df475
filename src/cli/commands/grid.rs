//! Text in columns.

use comfy_table::{CellAlignment, ColumnConstraint, Table, presets};

/// Lays out rows under column headings, without lines.
///
/// A column whose name ends with `>` is flush right. A column whose name ends with `?` is left out if all its cells are
/// empty. Neither mark is printed.
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

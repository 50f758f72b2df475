//! Tables in Markdown that are readable as plain text.

use std::fmt::Display;

use comfy_table::{CellAlignment, Table, presets};

use crate::text::cell;

/// The alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table.
#[derive(Clone, Debug)]
pub struct TextTable {
    /// The headings and alignments of the columns.
    pub columns: Vec<(&'static str, Alignment)>,
    /// The rows, with one text per column.
    pub rows: Vec<Vec<String>>,
}

/// A table with these columns and rows.
pub fn grid<const N: usize>(
    columns: [(&'static str, Alignment); N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> TextTable {
    TextTable {
        columns: columns.to_vec(),
        rows: rows.into_iter().map(Vec::from).collect(),
    }
}

impl TextTable {
    /// The table in Markdown, with an empty line at its end. Cells are text from outside, which may contain code.
    pub fn markdown(self) -> String {
        let Self { columns, rows } = self;
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header(columns.iter().map(|(name, _)| *name));
        table.add_rows(
            rows.into_iter()
                .map(|row| row.into_iter().map(|text| cell(&text))),
        );
        for (column, (_, side)) in table.column_iter_mut().zip(&columns) {
            column.set_cell_alignment(match side {
                Alignment::Left => CellAlignment::Left,
                Alignment::Right => CellAlignment::Right,
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
}

/// Adds the alignment to a Markdown separator: `|-----|` becomes `|----:|`.
fn mark_sides<N: Display>(separator: &str, columns: &[(N, Alignment)]) -> String {
    let dashes = separator.trim_matches('|').split('|').zip(columns);
    dashes.fold("|".to_owned(), |line, (dashes, (_, side))| match side {
        Alignment::Left => format!("{line}{dashes}|"),
        Alignment::Right => format!("{line}{}:|", &dashes[1..]),
    })
}

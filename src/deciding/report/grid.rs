//! Tables as text for terminals and in Markdown that is readable as plain text.

use comfy_table::{CellAlignment, Table, TableStyle, presets};

use crate::text::markdown_cell;

/// The heading of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heading {
    pub(crate) text: &'static str,
    /// Whether the column has numbers, which are flush right.
    pub(crate) is_number: bool,
}

/// A table.
#[derive(Clone, Debug)]
pub struct TextTable {
    pub(crate) columns: Vec<Heading>,
    /// The rows, with one text per column.
    pub rows: Vec<Vec<String>>,
}

/// Makes a table. `columns` has the names of the columns, separated by `|`.
///
/// A column whose name ends with `>` has numbers. A column whose name ends with `?` is left out if all its cells are
/// empty. Neither mark is shown.
pub fn text_table<const N: usize>(
    columns: &'static str,
    rows: impl IntoIterator<Item = [String; N]>,
) -> TextTable {
    let rows: Vec<[String; N]> = rows.into_iter().collect();
    let columns: Vec<&str> = columns.split('|').map(str::trim).collect();
    assert_eq!(columns.len(), N, "{columns:?}");
    let is_shown = |(name, column): &(&&'static str, usize)| {
        !name.ends_with('?') || rows.iter().any(|row| !row[*column].is_empty())
    };
    let shown: Vec<(&&str, usize)> = columns.iter().zip(0..N).filter(is_shown).collect();
    let heading = |name: &'static str| {
        let name = name.trim_end_matches('?');
        Heading {
            text: name.trim_end_matches('>'),
            is_number: name.ends_with('>'),
        }
    };
    let cells = |row: &[String; N]| {
        shown
            .iter()
            .map(|(_, column)| row[*column].clone())
            .collect()
    };
    TextTable {
        columns: shown.iter().map(|(text, _)| heading(text)).collect(),
        rows: rows.iter().map(cells).collect(),
    }
}

impl TextTable {
    fn lay_out(&self, style: TableStyle, cell: impl Fn(&str) -> String) -> Table {
        let mut table = Table::new();
        table.load_style(style);
        table.set_header(self.columns.iter().map(|heading| heading.text));
        table.add_rows(
            self.rows
                .iter()
                .map(|row| row.iter().map(|text| cell(text))),
        );
        for (column, heading) in table.column_iter_mut().zip(&self.columns) {
            if heading.is_number {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table
    }

    /// The table as text without lines between cells, and without a line end at its end.
    pub fn to_text(&self) -> String {
        let mut table = self.lay_out(presets::NOTHING, str::to_owned);
        table
            .column_iter_mut()
            .for_each(|column| _ = column.set_padding((0, 2)));
        let lines = table.lines().map(|line| line.trim_end().to_owned());
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The table in Markdown, with an empty line at its end. Cells are text from outside, which may contain code.
    pub fn to_markdown(&self) -> String {
        let table = self.lay_out(presets::ASCII_MARKDOWN, markdown_cell);
        let mut lines: Vec<String> = table.lines().collect();
        if let Some(line) = lines.get_mut(1) {
            *line = self.align_separator(line);
        }
        lines.join("\n") + "\n\n"
    }

    /// Adds the alignment to a Markdown separator: `|-----|` becomes `|----:|`.
    fn align_separator(&self, line: &str) -> String {
        let dashes = line.trim_matches('|').split('|').zip(&self.columns);
        dashes.fold("|".to_owned(), |aligned, (dashes, heading)| {
            if heading.is_number {
                format!("{aligned}{}:|", &dashes[1..])
            } else {
                format!("{aligned}{dashes}|")
            }
        })
    }
}

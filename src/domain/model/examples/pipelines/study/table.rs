//! Markdown tables.

use std::fmt;

/// A table; the columns of names are left-aligned, all others right-aligned.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    header: Vec<String>,
    names: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Columns, the first `names` of which hold names.
    pub(crate) fn new<S: ToString>(names: usize, header: &[S]) -> Self {
        Self {
            header: header.iter().map(S::to_string).collect(),
            names,
            rows: Vec::new(),
        }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = || std::iter::once(&self.header).chain(&self.rows);
        let column_width = |column: usize| {
            let cells = lines().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..self.header.len()).map(column_width).collect();
        for (index, line) in lines().enumerate() {
            for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
                if column < self.names {
                    write!(f, "| {cell:<width$} ")?
                } else {
                    write!(f, "| {cell:>width$} ")?
                }
            }
            writeln!(f, "|")?;
            if index == 0 {
                for (column, width) in widths.iter().enumerate() {
                    let end = if column < self.names { '-' } else { ':' };
                    write!(f, "|{}{end}", "-".repeat(width + 1))?;
                }
                writeln!(f, "|")?;
            }
        }
        Ok(())
    }
}

//! The layout of the report.

use std::fmt::Write;

/// A table whose columns are aligned to the right.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let header: Vec<String> = header.iter().map(|cell| (*cell).to_owned()).collect();
    let lines = || std::iter::once(&header).chain(rows);
    let column_width = |column: usize| {
        let cells = lines().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(column_width).collect();
    let mut text = String::new();
    for (index, line) in lines().enumerate() {
        for (cell, width) in line.iter().zip(&widths) {
            // Writing to a string cannot fail.
            let _ = write!(text, "| {cell:>width$} ");
        }
        text += "|\n";
        if index == 0 {
            for width in &widths {
                text += &format!("|{}:", "-".repeat(width + 1));
            }
            text += "|\n";
        }
    }
    text
}

/// Prose in lines of up to 100 characters; tables, titles and commands stay as they are.
pub(crate) fn wrapped(text: &str) -> String {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        if paragraph.starts_with(['|', '#', ' ']) {
            lines.push(paragraph.to_owned());
            continue;
        }
        let mut line = String::new();
        for word in paragraph.split(' ') {
            if line.chars().count() + word.chars().count() >= 100 {
                lines.push(std::mem::take(&mut line));
            } else if !line.is_empty() {
                line.push(' ');
            }
            line += word;
        }
        lines.push(line);
    }
    lines.join("\n") + "\n"
}

/// Seconds as microseconds.
pub(crate) fn microseconds(seconds: f64) -> String {
    match seconds * 1e6 {
        short if short < 100.0 => format!("{short:.2}"),
        long => format!("{long:.0}"),
    }
}

/// A share, as in 0.07.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Items in a sentence.
pub(crate) fn list(items: &[String]) -> String {
    match items {
        [] => "none".to_owned(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

//! Pictures with captions and the numbers behind them, and tables.

use maud::{Markup, html};

use super::plot::Plot;
use crate::grid::{Grid, Side};

/// A picture with its caption and its numbers.
pub(super) fn figure(id: &str, caption: &str, picture: &Markup, numbers: Grid) -> Markup {
    html! {
        figure id=(id) tabindex="0" {
            figcaption { (caption) }
            (picture)
            (folded("The numbers behind it", numbers))
        }
    }
}

/// The figure of a plot; nothing if there is nothing to be drawn.
pub(super) fn plotted(plot: &Plot, numbers: Grid) -> Option<Markup> {
    let picture = plot.draw()?;
    Some(figure(&plot.id, &plot.title, &picture, numbers))
}

/// A table that is shown when asked for.
pub(super) fn folded(summary: &str, numbers: Grid) -> Markup {
    html! {
        @if !numbers.rows.is_empty() {
            details {
                summary { (summary) }
                (table(numbers))
            }
        }
    }
}

pub(super) fn table(grid: Grid) -> Markup {
    let Grid { columns, rows } = grid;
    let class = |side: Side| (side == Side::Right).then_some("number");
    html! {
        div.wide { table {
            thead { tr {
                @for (name, side) in &columns { th scope="col" class=[class(*side)] { (name) } }
            } }
            tbody {
                @for row in rows {
                    tr { @for (text, (_, side)) in row.iter().zip(&columns) {
                        td class=[class(*side)] { (text) }
                    } }
                }
            }
        } }
    }
}

/// How many of how many are shown; nothing if all are.
pub(super) fn left_out(shown: usize, all: usize, what: &str, rest: &str) -> Markup {
    html! {
        @if shown < all {
            p.left-out { (shown) " of " (all) " " (what) ", those with most at stake. " (rest) }
        }
    }
}

/// Where everything is.
pub(super) const REST: &str = "All are in the CSV report (--format csv).";

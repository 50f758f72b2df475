//! Figures with captions and tables of their numbers.

use maud::{Markup, html};

use super::plot::Plot;
use crate::grid::TextTable;

/// A picture with its caption and its numbers.
pub(super) fn figure_with_numbers(
    id: &str,
    caption: &str,
    picture: &Markup,
    numbers: TextTable,
) -> Markup {
    html! {
        figure id=(id) {
            figcaption { (caption) }
            // With the focus, the keys scroll what is wider than the window.
            div.picture tabindex="0" role="group" aria-label=(caption) { (picture) }
            (folded_table("The numbers behind it", numbers))
        }
    }
}

/// The figure of a plot; `None` if there is nothing to draw.
pub(super) fn plot_figure(plot: &Plot, numbers: TextTable) -> Option<Markup> {
    let picture = plot.draw()?;
    Some(figure_with_numbers(
        &plot.id,
        &plot.title,
        &picture,
        numbers,
    ))
}

/// A table that is folded until the reader opens it.
pub(super) fn folded_table(summary: &str, numbers: TextTable) -> Markup {
    html! {
        @if !numbers.rows.is_empty() {
            details {
                summary { (summary) }
                (wide_table(numbers))
            }
        }
    }
}

pub(super) fn wide_table(grid: TextTable) -> Markup {
    html! { div.wide { (grid.to_html()) } }
}

impl TextTable {
    /// The table in HTML.
    pub fn to_html(&self) -> Markup {
        let class = |is_number: bool| is_number.then_some("number");
        html! {
            table {
                thead { tr {
                    @for heading in &self.columns { th scope="col" class=[class(heading.is_number)] { (heading.text) } }
                } }
                tbody {
                    @for row in &self.rows {
                        tr { @for (text, heading) in row.iter().zip(&self.columns) {
                            td class=[class(heading.is_number)] { (text) }
                        } }
                    }
                }
            }
        }
    }
}

/// A note on the number of items shown; empty if all are.
pub(super) fn left_out_note(shown: usize, all: usize, what: &str, rest: &str) -> Markup {
    html! {
        @if shown < all {
            p.left-out { (shown) " of " (all) " " (what) ", those with most at stake. " (rest) }
        }
    }
}

/// The note on where to find all items.
pub(super) const REST: &str = "All are in the CSV report (--format csv).";

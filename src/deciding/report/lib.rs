//! Reports on measurements, fits and decisions.
//!
//! A [`View`] holds the content without any layout; `tuner` builds it from a store and a fit, [`View::from_table`] from
//! a table alone. [`render_html`] renders it as a page with figures, [`render_figures`] renders the main parts of that
//! page for other pages, [`render_maps`] the decision maps of a collective as a picture, [`render_markdown`] renders
//! text, [`render_csv`] all cells with all candidates, and [`render_summary`] a few lines for a terminal. All are pure
//! functions of the view.
//!
//! Markdown, page and CSV share their tables and sentences (`grid.rs`, `text.rs`). Lists that would grow with the store
//! are limited to the entries with most at stake; CSV has everything.

mod csv_text;
mod diff;
mod directions;
mod expected;
mod grid;
mod html;
mod markdown;
mod measuring;
mod pairs;
mod placement;
mod repetitions;
mod summary;
mod table_view;
mod text;
mod view;

pub use csv_text::render_csv;
pub use diff::{changed_choices, changed_defaults, group_name, no_changes};
pub use grid::{TextTable, text_table};
pub use html::{
    FIGURE_STYLE, Quantity, inline_code_html, render_figures, render_html, render_maps,
    render_times,
};
pub use markdown::render_markdown;
pub use summary::render_summary;
pub use text::{describe_bits, inline_code, markdown_prose};
pub use view::{Basis, Comparison, LibraryRules, View, WithheldReasons, find_withheld_reasons};

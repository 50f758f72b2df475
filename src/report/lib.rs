//! Reports: what was measured, fitted and decided, for people.
//!
//! A [`View`] holds the content and knows nothing of how it looks; `tuner` builds it from a store and a fit,
//! [`View::of_table`] from a table alone. [`render_html`] lays it out as a page with pictures, [`figures`] gives the
//! main parts of that page for other pages, [`render_markdown`] lays it out as text, [`render_csv`] as all cells with
//! all candidates; [`render_summary`] gives the few lines that a terminal has room for. All are pure: the same view
//! gives the same text.

mod csv_text;
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
pub use html::{FIGURE_STYLE, figures, inline, render_html};
pub use markdown::render_markdown;
pub use summary::render_summary;
pub use text::{cell, code, prose};
pub use view::{Basis, Comparison, View, WithheldReasons, withheld};

//! The differences between two tables.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use report::{changed_choices, changed_defaults, group_name, no_changes};
use serde::Deserialize;
use service::Digest;
use table::{Diff, OnlyIn, Side};

use super::elements::{markup_from_bytes, scroll_box, table_address, table_link};
use super::forms::Reader;
use super::layout::{Frame, with_query};
use super::table::parse_digest;
use crate::extract::{Path, Query};
use crate::results::TableOutput;
use crate::{App, Problem};

/// The most changes that are shown.
const MOST_CHANGES: usize = 500;
/// The most entries without a counterpart that are named.
const MOST_ENTRIES: usize = 100;

#[derive(Debug, Deserialize)]
pub(super) struct DiffQuery {
    /// The earlier table.
    to: String,
}

pub(super) async fn show_diff(
    State(app): State<App>,
    Reader(visitor): Reader,
    Path(digest): Path<String>,
    Query(asked): Query<DiffQuery>,
) -> Result<Response, Problem> {
    let (after, before) = (parse_digest(&digest)?, parse_digest(&asked.to)?);
    let reader = visitor.clone();
    let both = [before.clone(), after.clone()];
    let may_read = app.run_reading(move |service| {
        let mut both = both.iter();
        both.try_for_each(|compared| reader.find_versions(service, compared).map(drop))
    });
    may_read.await?;
    let content = app
        .make_or_recall(TableOutput::Changes { before, after })
        .await?;
    let frame = Frame::new("What changed between two tables", Some(&visitor), "/tables");
    Ok(frame
        .render_html(&markup_from_bytes(&content))
        .into_response())
}

/// The content of the page.
pub(crate) fn render_changes(before: &Digest, after: &Digest, diff: &Diff) -> String {
    changes_content(before, after, diff).into_string()
}

fn changes_content(before: &Digest, after: &Digest, diff: &Diff) -> Markup {
    let shown = diff.changes.len().min(MOST_CHANGES);
    let reverse = with_query(
        &format!("{}/diff", table_address(before)),
        &[("to", after.as_str())],
    );
    html! {
        p { "From " (table_link(before)) " to " (table_link(after)) ". " a href=(reverse) { "Exchange the two tables" } }
        section aria-labelledby="changes-head" {
            h2 #changes-head { "Choices" }
            @if diff.changes.is_empty() {
                p { (no_changes(diff)) }
            } @else {
                p { "Changed ranges of sizes: " (diff.changes.len()) "." @if shown < diff.changes.len() { " The first " (shown) " are shown." } }
                (scroll_box("Choices that changed", &changed_choices(&diff.changes[..shown]).to_html()))
                p.quiet {
                    "Worth: the expected speed-up over the default after the change, divided by the one before it."
                }
            }
        }
        @for (side, name) in [(Side::Before, "before"), (Side::After, "after")] {
            (one_sided_rules(&diff.only_in_one, side, name))
        }
        @if !diff.defaults.is_empty() {
            section aria-labelledby="defaults-head" {
                h2 #defaults-head { "The library's default" }
                p { "Time of the default after the change, divided by its time before; above 1 it has become slower." }
                (scroll_box("The library's default", &changed_defaults(&diff.defaults).to_html()))
            }
        }
    }
}

fn one_sided_rules(all: &[OnlyIn], side: Side, name: &str) -> Markup {
    let entries: Vec<&OnlyIn> = all.iter().filter(|only| only.side == side).collect();
    let head = format!("only-{name}");
    html! {
        @if !entries.is_empty() {
            section aria-labelledby=(head) {
                h2 id=(head) { "Rules only " (name) }
                ul { @for only in entries.iter().take(MOST_ENTRIES) { li { (group_name(&only.group)) } } }
                @if entries.len() > MOST_ENTRIES { p { "And " (entries.len() - MOST_ENTRIES) " more." } }
            }
        }
    }
}

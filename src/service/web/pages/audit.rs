//! The page of the audit.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde_json::Value;
use service::{AuditRow, Slice};

use super::elements::{pager_links, scroll_box, time_element};
use super::forms::{Before, Reader};
use super::layout::Frame;
use crate::extract::Query;
use crate::{App, Problem};

/// The longest details that are shown unfolded, in bytes.
const MOST_SHOWN: usize = 60;

pub(super) async fn show_entries(
    State(app): State<App>,
    Reader(visitor): Reader,
    Query(Before { before }): Query<Before>,
) -> Result<Response, Problem> {
    let actor = visitor.actor.clone();
    let slice = Slice {
        before,
        limit: None,
    };
    let rows = app
        .run_reading(move |service| service.read_audit(&actor, slice))
        .await?;
    let frame = Frame::new("Audit", Some(&visitor), "/audit");
    let content = html! {
        @if rows.items.is_empty() { p { "No entries yet." } }
        @else { (scroll_box("Audit", &entries_table(&rows.items))) }
        (pager_links("/audit", before, rows.next))
    };
    Ok(frame.render_html(&content).into_response())
}

fn entries_table(rows: &[AuditRow]) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "time" } th scope="col" { "user" } th scope="col" { "action" }
                th scope="col" { "subject" } th scope="col" { "details" } } }
            tbody {
                @for row in rows {
                    tr {
                        td { (time_element(row.at)) }
                        td { (row.actor) }
                        th scope="row" { (row.action) }
                        td.words { (row.subject) }
                        td.words { (row_details(row)) }
                    }
                }
            }
        }
    }
}

/// Shows short details in full; of longer ones, shows the reason, if any, and folds the rest.
fn row_details(row: &AuditRow) -> Markup {
    let all = if row.details.is_null() {
        String::new()
    } else {
        row.details.to_string()
    };
    let reason = row.details.get("reason").and_then(Value::as_str);
    html! {
        @if all.len() <= MOST_SHOWN { code { (all) } }
        @else {
            (reason.unwrap_or_default())
            details { summary { "All details" } code { (all) } }
        }
    }
}

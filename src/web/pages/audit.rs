//! The page of the audit.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;
use service::{AuditRow, Slice};

use super::elements::{pager, when, wide};
use super::forms::Reader;
use super::layout::Frame;
use crate::extract::Query;
use crate::{App, Problem};

/// Bytes of details that are shown without unfolding.
const MOST_SHOWN: usize = 60;

#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    before: Option<u64>,
}

pub(super) async fn show(
    State(app): State<App>,
    Reader(visitor): Reader,
    Query(asked): Query<Asked>,
) -> Result<Response, Problem> {
    let (actor, before) = (visitor.actor.clone(), asked.before);
    let slice = Slice {
        before,
        limit: None,
    };
    let rows = app.ask(move |service| service.audit(&actor, slice)).await?;
    let frame = Frame {
        title: "Audit",
        visitor: Some(&visitor),
        place: "/audit",
        events: None,
    };
    let content = html! {
        @if rows.items.is_empty() { p { "Nothing was done yet." } }
        @else { (wide("Audit", &table(&rows.items))) }
        (pager("/audit", before, rows.next))
    };
    Ok(frame.html(&content).into_response())
}

fn table(rows: &[AuditRow]) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "when" } th scope="col" { "who" } th scope="col" { "what" }
                th scope="col" { "to what" } th scope="col" { "details" } } }
            tbody {
                @for row in rows {
                    tr {
                        td { (when(row.at)) }
                        td { (row.actor) }
                        th scope="row" { (row.action) }
                        td.words { (row.subject) }
                        td.words { (details(row)) }
                    }
                }
            }
        }
    }
}

/// Details in full where they are short; otherwise the reason, if one was given, and the rest to unfold.
fn details(row: &AuditRow) -> Markup {
    let all = match row.details.is_null() {
        true => String::new(),
        false => row.details.to_string(),
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

//! The differences between two tables.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde::Deserialize;
use service::Digest;
use table::{
    Change, ChosenRange, DefaultChange, Deployments, Diff, Group, OnlyIn, Operators, Side,
};
use vocabulary::Candidate;
use vocabulary::units::format_bytes;

use super::elements::{table_address, table_link, wide};
use super::forms::Reader;
use super::layout::{Frame, with_query};
use super::table::{parsed, readable};
use crate::extract::{Path, Query};
use crate::{App, Problem};

/// The most changes that are shown.
const MOST_CHANGES: usize = 500;
/// The most entries without a counterpart that are named.
const MOST_ENTRIES: usize = 100;

#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    /// The earlier table.
    to: String,
}

pub(super) async fn show(
    State(app): State<App>,
    Reader(visitor): Reader,
    Path(digest): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<Response, Problem> {
    let (after, before) = (parsed(&digest)?, parsed(&asked.to)?);
    let reader = visitor.clone();
    let content = app
        .ask(move |service| {
            for digest in [&before, &after] {
                readable(service, digest, &reader)?;
            }
            let diff = service.table(&before)?.diff(&service.table(&after)?);
            Ok(content(&before, &after, &diff))
        })
        .await?;
    let frame = Frame {
        title: "What changed between two tables",
        visitor: Some(&visitor),
        place: "/tables",
        events: None,
    };
    Ok(frame.html(&content).into_response())
}

fn content(before: &Digest, after: &Digest, diff: &Diff) -> Markup {
    let shown = diff.changes.len().min(MOST_CHANGES);
    let reverse = with_query(
        &format!("{}/diff", table_address(before)),
        &[("to", after.as_str())],
    );
    html! {
        p { "From " (table_link(before)) " to " (table_link(after)) ". " a href=(reverse) { "The other way round" } }
        section aria-labelledby="changes-head" {
            h2 #changes-head { "Choices" }
            @if diff.changes.is_empty() {
                p { "Where both have rules they choose alike." }
            } @else {
                p { "Changed ranges of sizes: " (diff.changes.len()) "." @if shown < diff.changes.len() { " The first " (shown) " are shown." } }
                (wide("Choices that changed", &changes(&diff.changes[..shown])))
                p.quiet {
                    "Worth: the expected speed-up over the default after the change, divided by the one before it."
                }
            }
        }
        @for (side, name) in [(Side::Before, "before"), (Side::After, "after")] {
            (only(&diff.only_in_one, side, name))
        }
        @if !diff.defaults.is_empty() {
            section aria-labelledby="defaults-head" {
                h2 #defaults-head { "The library's default" }
                p { "Time of the default after the change, divided by its time before; above 1 it has become slower." }
                (wide("The library's default", &defaults(&diff.defaults)))
            }
        }
    }
}

fn changes(changes: &[Change]) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "where" } th.number scope="col" { "from" } th.number scope="col" { "below" }
                th scope="col" { "before" } th scope="col" { "after" } th.number scope="col" { "worth" } } }
            tbody {
                @for change in changes {
                    tr {
                        th scope="row" { (place(&change.group)) }
                        td.number { (format_bytes(change.from_bytes)) }
                        td.number { (change.below_bytes.map(format_bytes).unwrap_or_default()) }
                        td { (choice(&change.before)) }
                        td { (choice(&change.after)) @if change.is_turned_back() { " (turned back)" } }
                        td.number { (times(change.worth)) }
                    }
                }
            }
        }
    }
}

fn only(all: &[OnlyIn], side: Side, name: &str) -> Markup {
    let entries: Vec<&OnlyIn> = all.iter().filter(|only| only.side == side).collect();
    let head = format!("only-{name}");
    html! {
        @if !entries.is_empty() {
            section aria-labelledby=(head) {
                h2 id=(head) { "Rules only " (name) }
                ul { @for only in entries.iter().take(MOST_ENTRIES) { li { (place(&only.group)) } } }
                @if entries.len() > MOST_ENTRIES { p { "And " (entries.len() - MOST_ENTRIES) " more." } }
            }
        }
    }
}

fn defaults(defaults: &[DefaultChange]) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "collective" } th.number scope="col" { "mean" }
                th.number scope="col" { "farthest from 1" } th scope="col" { "at" } th.number scope="col" { "points" } } }
            tbody {
                @for change in defaults {
                    tr {
                        th scope="row" { (change.collective) }
                        td.number { (times(Some(change.mean))) }
                        td.number { (times(Some(change.extreme))) }
                        td { (format_bytes(change.bytes)) " on " (change.shape) }
                        td.number { (change.points) }
                    }
                }
            }
        }
    }
}

fn place(group: &Group) -> Markup {
    html! {
        (group.collective) " on " (group.shape)
        @if let Some(order) = group.order.told_on(group.shape) { " in " (order) " order" }
        @if group.operators != Operators::Any { ", " (group.operators) " operators" }
        @if group.deployments != Deployments::Any { ", deployment " (group.deployments) }
    }
}

fn choice(choice: &ChosenRange) -> Markup {
    html! {
        (choice.candidate)
        @if choice.candidate != Candidate::Default { " (" (times(choice.speedup)) ")" }
    }
}

fn times(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "unknown".to_owned(), |ratio| format!("{ratio:.2}x"))
}

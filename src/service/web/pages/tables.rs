//! The list of tables, newest first.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde::Deserialize;
use service::{Service, Slice, Version};

use super::elements::{
    campaign_link, pager_links, scroll_box, table_address, table_link, task_link, time_element,
};
use super::forms::Reader;
use super::layout::{Frame, with_query};
use crate::extract::Query;
use crate::{App, Problem, Visitor};

#[derive(Debug, Default, Deserialize)]
pub(super) struct TablesQuery {
    #[serde(default)]
    machine: String,
    #[serde(default)]
    before: Option<u64>,
}

pub(super) async fn list_tables(
    State(app): State<App>,
    Reader(visitor): Reader,
    Query(asked): Query<TablesQuery>,
) -> Result<Response, Problem> {
    let machine = Some(asked.machine.clone()).filter(|name| !name.is_empty());
    let slice = Slice {
        before: asked.before,
        limit: None,
    };
    let reader = visitor.clone();
    let (versions, machines) = app
        .run_reading(move |service| {
            let readable = reader.readable_machines();
            let machine = machine.as_deref();
            let versions =
                service.list_readable_versions(readable.as_deref(), machine, None, slice)?;
            Ok((versions, readable_machine_names(service, &reader)))
        })
        .await?;
    let frame = Frame::new("Tables", Some(&visitor), "/tables");
    let content = html! {
        form.row method="get" action="/tables" role="search" aria-label="Filter the tables" {
            div {
                label for="machine" { "Machine" }
                select #machine name="machine" {
                    option value="" { "any" }
                    @for name in &machines { option value=(name) selected[*name == asked.machine] { (name) } }
                }
            }
            button.quiet { "Filter" }
        }
        @if versions.items.is_empty() {
            p { "There are no tables. A tuning task makes one: " a href="/queue#submit" { "submit a task" } "." }
        } @else {
            (scroll_box("Tables", &versions_table(&versions.items)))
        }
        (pager_links(&with_query("/tables", &[("machine", &asked.machine)]), asked.before, versions.next))
    };
    Ok(frame.render_html(&content).into_response())
}

/// The names of the configured machines that a visitor may read about.
pub(super) fn readable_machine_names(service: &Service, visitor: &Visitor) -> Vec<String> {
    let all = service.configuration().machines.iter();
    let names = all.map(|machine| machine.name.clone());
    names.filter(|name| visitor.may_read(Some(name))).collect()
}

/// Versions as a table.
pub(super) fn versions_table(versions: &[Version]) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "table" } th scope="col" { "name" } th scope="col" { "machine" }
                th scope="col" { "library" } th scope="col" { "added" } th scope="col" { "made by" } th scope="col" { "replaces" } } }
            tbody {
                @for version in versions {
                    tr {
                        th scope="row" { (table_link(&version.digest)) }
                        td { (version.name) }
                        td { (version.machine) }
                        td { (version.library) }
                        td { (time_element(version.added_at)) }
                        td {
                            @if let Some(task) = version.task { (task_link(task)) " " }
                            @if let Some(path) = &version.campaign { (campaign_link(path)) }
                            @if version.task.is_none() { " found or uploaded" }
                        }
                        td {
                            @if let Some(parent) = &version.parent {
                                (table_link(parent)) " · "
                                a href=(with_query(&format!("{}/diff", table_address(&version.digest)), &[("to", parent.as_str())])) {
                                    "what changed"
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

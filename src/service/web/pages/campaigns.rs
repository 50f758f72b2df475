//! The campaigns of the service's folder.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use service::{CampaignEntry, Page, Service, ServiceError, Slice, Task, TaskFilter, Version};

use super::elements::{campaign_address, campaign_link, pager_links, scroll_box};
use super::forms::{Before, Fields, Reader};
use super::layout::{EVENTS, Frame, with_query};
use super::{queue, submit, tables};
use crate::extract::{Path, Query};
use crate::{App, Problem, Visitor};

/// The number of tasks on a campaign's page.
const MOST_TASKS: u32 = 10;

pub(super) async fn list_campaigns(
    State(app): State<App>,
    Reader(visitor): Reader,
) -> Result<Response, Problem> {
    let reader = visitor.clone();
    let campaigns = app
        .run_reading(move |service| readable_campaigns(service, &reader))
        .await?;
    let frame = Frame::new("Campaigns", Some(&visitor), "/campaigns");
    let content = html! {
        @if campaigns.is_empty() {
            p {
                "There are no campaigns. Put campaign files (YAML, made by " code { "colltune init" } ") into " code { "tuning/" }
                " of the service's folder, or name others for a machine in " code { "service.yaml" } "."
            }
        } @else {
            (scroll_box("Campaigns", &campaigns_table(&campaigns)))
        }
    };
    Ok(frame.render_html(&content).into_response())
}

/// The campaigns of the machines that a visitor may read about, without other machines.
pub(crate) fn readable_campaigns(
    service: &Service,
    visitor: &Visitor,
) -> Result<Vec<CampaignEntry>, ServiceError> {
    let mut all = service.list_campaigns()?;
    all.retain_mut(|entry| {
        let may_read = |machine: &String| visitor.may_read(Some(machine));
        entry.machines.retain(may_read);
        !entry.machines.is_empty()
    });
    Ok(all)
}

fn campaigns_table(campaigns: &[CampaignEntry]) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "campaign" } th scope="col" { "name" } th scope="col" { "machines" } th scope="col" { "problem" } } }
            tbody {
                @for entry in campaigns {
                    tr {
                        th scope="row" { (campaign_link(&entry.path)) }
                        td { (entry.name.as_deref().unwrap_or_default()) }
                        td { (entry.machines.join(", ")) }
                        td.words { @if let Some(problem) = &entry.problem { pre { (problem) } } }
                    }
                }
            }
        }
    }
}

#[derive(Debug)]
struct ShownCampaign {
    entry: CampaignEntry,
    text: Option<String>,
    versions: Page<Version>,
    tasks: Page<Task>,
}

pub(super) async fn show_campaign(
    State(app): State<App>,
    Reader(visitor): Reader,
    Path(path): Path<String>,
    Query(Before { before }): Query<Before>,
) -> Result<Response, Problem> {
    let (title, reader) = (path.clone(), visitor.clone());
    let shown = app
        .run_reading(move |service| {
            let all = readable_campaigns(service, &reader)?;
            let entry = all.into_iter().find(|entry| entry.path == path);
            let filter = TaskFilter {
                campaign: Some(path.clone()),
                machines: reader.readable_machines(),
                ..TaskFilter::default()
            };
            let slice = |before_id, limit| Slice {
                before: before_id,
                limit,
            };
            let (readable, newest) = (reader.readable_machines(), slice(before, None));
            let versions =
                service.list_readable_versions(readable.as_deref(), None, Some(&path), newest)?;
            let tasks = service.list_tasks(&filter, slice(None, Some(MOST_TASKS)))?;
            Ok(ShownCampaign {
                entry: entry.ok_or_else(|| ServiceError::NotFound {
                    kind: "campaign",
                    name: path.clone(),
                })?,
                text: service.read_campaign(&path).ok().map(|(_, text)| text),
                versions,
                tasks,
            })
        })
        .await?;
    let frame = Frame::new(&title, Some(&visitor), "/campaigns")
        .with_live_events(EVENTS.filter(|_| before.is_none()));
    Ok(frame
        .render_html(&campaign_content(&visitor, &shown, before))
        .into_response())
}

fn campaign_content(visitor: &Visitor, shown: &ShownCampaign, before: Option<u64>) -> Markup {
    let ShownCampaign { entry, .. } = shown;
    let fields = Fields::default().with_field("campaign", &entry.path);
    html! {
        @if let Some(name) = &entry.name { p { "The campaign " strong { (name) } " may run on " (entry.machines.join(", ")) "." } }
        @if let Some(problem) = &entry.problem {
            p.refusal { strong { "The campaign cannot be read." } }
            pre.log tabindex="0" aria-label="Why it cannot be read" { (problem) }
        }
        section aria-labelledby="tables-head" {
            h2 #tables-head { "Tables" }
            div #tables data-live {
                @if shown.versions.items.is_empty() { p { "There are no tables yet." } }
                @else { (scroll_box("Tables of the campaign", &tables::versions_table(&shown.versions.items))) }
            }
            (pager_links(&campaign_address(&entry.path), before, shown.versions.next))
        }
        section aria-labelledby="tasks-head" {
            h2 #tasks-head { "Tasks" }
            div #tasks data-live {
                @if shown.tasks.items.is_empty() { p { "There are no tasks yet." } }
                @else { (scroll_box("Tasks of the campaign", &queue::tasks_table(visitor, &shown.tasks.items))) }
            }
            @if shown.tasks.next.is_some() {
                p { a href=(with_query("/queue", &[("campaign", &entry.path)])) { "All tasks of the campaign" } }
            }
        }
        @if entry.problem.is_none() {
            section #submit aria-labelledby="submit-head" {
                h2 #submit-head { "Submit a task" }
                (submit::task_form(visitor, std::slice::from_ref(entry), &entry.machines, &fields, None))
            }
        }
        @if let Some(text) = &shown.text {
            section aria-labelledby="text-head" {
                h2 #text-head { "Text" }
                pre.log tabindex="0" aria-labelledby="text-head" { (text) }
            }
        }
    }
}

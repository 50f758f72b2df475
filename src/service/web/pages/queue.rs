//! The queue, and the form that submits a task.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use service::{CampaignEntry, Page, Scope, Slice, Task, TaskFilter, TaskState};

use super::campaigns::readable_campaigns as campaigns;
use super::elements::{
    node_hours, pager_links, scroll_box, state_badge, task_link, task_subject, time_element,
};
use super::forms::{Fields, Reader, SentForm};
use super::layout::{EVENTS, Frame, form_token, with_query};
use super::submit;
use super::tables::readable_machine_names;
use crate::extract::Query;
use crate::{App, Problem, Visitor};

/// The query. Empty fields do not restrict the list.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct QueueQuery {
    #[serde(default)]
    state: String,
    #[serde(default)]
    machine: String,
    /// The path of a campaign: restricts the list, and preselects the campaign of the form.
    #[serde(default)]
    campaign: String,
    #[serde(default)]
    before: Option<u64>,
}

impl QueueQuery {
    fn to_filter(&self) -> TaskFilter {
        let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        TaskFilter {
            state: self.state.parse().ok(),
            machine: given(&self.machine),
            campaign: given(&self.campaign),
            machines: None,
        }
    }

    /// The address of the first page of the list.
    fn first_page_address(&self) -> String {
        let fields = [
            ("state", self.state.as_str()),
            ("machine", &self.machine),
            ("campaign", &self.campaign),
        ];
        with_query("/queue", &fields)
    }
}

pub(super) async fn show_tasks(
    State(app): State<App>,
    Reader(visitor): Reader,
    Query(asked): Query<QueueQuery>,
) -> Result<Response, Problem> {
    let fields = Fields::default()
        .with_field("campaign", &asked.campaign)
        .with_field("machine", &asked.machine);
    queue_page(&app, &visitor, asked, &fields, None).await
}

pub(super) async fn submit_task(
    State(app): State<App>,
    sent: SentForm,
) -> Result<Response, Problem> {
    match submit::submit_sent(&app, &sent).await {
        Ok(id) => Ok(Redirect::to(&format!("/tasks/{id}")).into_response()),
        Err(problem) if problem.status.is_server_error() => Err(problem),
        Err(problem) => {
            let refused = Some(&problem);
            queue_page(
                &app,
                &sent.visitor,
                QueueQuery::default(),
                &sent.fields,
                refused,
            )
            .await
        }
    }
}

async fn queue_page(
    app: &App,
    visitor: &Visitor,
    asked: QueueQuery,
    fields: &Fields,
    refused: Option<&Problem>,
) -> Result<Response, Problem> {
    let filter = TaskFilter {
        machines: visitor.readable_machines(),
        ..asked.to_filter()
    };
    let slice = Slice {
        before: asked.before,
        limit: None,
    };
    let reader = visitor.clone();
    let (tasks, campaigns, machines) = app
        .run_reading(move |service| {
            Ok((
                service.list_tasks(&filter, slice)?,
                campaigns(service, &reader)?,
                readable_machine_names(service, &reader),
            ))
        })
        .await?;
    let frame = Frame::new("Queue", Some(visitor), "/queue")
        .with_live_events(EVENTS.filter(|_| asked.before.is_none()));
    let content = html! {
        @if refused.is_none() {
            (filter_form(&asked, &machines, &campaigns))
            (tasks_section(visitor, &asked, &tasks))
        }
        section #submit aria-labelledby="submit-head" {
            h2 #submit-head { "Submit a task" }
            (submit::task_form(visitor, &campaigns, &machines, fields, refused))
        }
    };
    let status = refused.map_or(StatusCode::OK, |problem| problem.status);
    Ok((status, frame.render_html(&content)).into_response())
}

const STATES: [TaskState; 5] = [
    TaskState::Waiting,
    TaskState::Running,
    TaskState::Done,
    TaskState::Failed,
    TaskState::Cancelled,
];

fn filter_form(asked: &QueueQuery, machines: &[String], campaigns: &[CampaignEntry]) -> Markup {
    html! {
        form.row method="get" action="/queue" role="search" aria-label="Filter the queue" {
            div {
                label for="state" { "State" }
                select #state name="state" {
                    option value="" { "any" }
                    @for state in STATES { option value=(state) selected[asked.state == state.to_string()] { (state) } }
                }
            }
            div {
                label for="machine" { "Machine" }
                select #machine name="machine" {
                    option value="" { "any" }
                    @for machine in machines { option value=(machine) selected[asked.machine == *machine] { (machine) } }
                }
            }
            div {
                label for="campaign" { "Campaign" }
                select #campaign name="campaign" {
                    option value="" { "any" }
                    @for entry in campaigns {
                        option value=(entry.path) selected[asked.campaign == entry.path] { (entry.path) }
                    }
                }
            }
            button.quiet { "Filter" }
        }
    }
}

fn tasks_section(visitor: &Visitor, asked: &QueueQuery, tasks: &Page<Task>) -> Markup {
    html! {
        section aria-label="Tasks" {
            div #tasks data-live {
                @if tasks.items.is_empty() {
                    p { "There are no such tasks." }
                } @else {
                    (scroll_box("Tasks", &tasks_table(visitor, &tasks.items)))
                }
            }
            (pager_links(&asked.first_page_address(), asked.before, tasks.next))
        }
    }
}

/// Tasks as a table, with buttons to cancel those that the visitor may cancel.
pub(super) fn tasks_table(visitor: &Visitor, tasks: &[Task]) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "task" } th scope="col" { "state" } th scope="col" { "work" }
                th scope="col" { "machine" } th scope="col" { "reason" } th scope="col" { "submitted" }
                th scope="col" { "by" } th.number scope="col" { "node-hours" } th scope="col" { span.unseen { "cancel" } } } }
            tbody {
                @for task in tasks {
                    tr {
                        th scope="row" { (task_link(task.id)) }
                        td { (state_badge(task.state)) }
                        td { (task_subject(task)) }
                        td { (task.request.machine.as_deref().unwrap_or_default()) }
                        td.words { (task.reason) }
                        td { (time_element(task.submitted_at)) }
                        td { (task.actor) }
                        td.number { (node_hours(task.node_seconds)) }
                        td { (cancel_form(visitor, task)) }
                    }
                }
            }
        }
    }
}

/// The form that cancels a task, if the visitor may cancel it.
pub(super) fn cancel_form(visitor: &Visitor, task: &Task) -> Markup {
    let has_ended = !matches!(task.state, TaskState::Waiting | TaskState::Running);
    let may = visitor
        .actor
        .has_scope(Scope::Submit, task.request.machine.as_deref());
    html! {
        @if !has_ended && may && !visitor.is_anonymous() {
            form method="post" action=(format!("/tasks/{}/cancel", task.id)) {
                (form_token(visitor))
                button.quiet aria-label=(format!("Cancel task {}", task.id)) { "Cancel" }
            }
        }
    }
}

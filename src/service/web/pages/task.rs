//! The page of a task.

use answers::PrintedEvent;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use jiff::Timestamp;
use maud::{Markup, html};
use service::{Service, ServiceError, Task, TaskId, TaskState};

use super::elements::{
    age_element, node_hours, state_badge, table_link, task_link, task_subject, time_element,
};
use super::forms::{Reader, SentForm};
use super::layout::Frame;
use super::{progress, queue};
use crate::extract::Path;
use crate::{App, Problem, Visitor};

/// The most lines of the log that are shown.
const MOST_LINES: usize = 60;
/// The most bytes of the log that are read.
const MOST_BYTES: u64 = 16 << 10;

#[derive(Debug)]
struct ShownTask {
    task: Task,
    progress: Option<PrintedEvent>,
    /// The end of the log, or the reason why there is none.
    log: Result<String, String>,
}

impl ShownTask {
    fn read_for_visitor(
        service: &Service,
        id: TaskId,
        reader: &Visitor,
    ) -> Result<Self, ServiceError> {
        let task = reader.find_task(service, id)?;
        let progress = match task.state {
            TaskState::Running => service.feed().last_progress(id),
            _ => None,
        };
        let log = match end_of_log(service, id) {
            Ok(text) => Ok(text),
            Err(ServiceError::NoLog(_)) => Err("There is no log.".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        Ok(Self {
            task,
            progress,
            log,
        })
    }
}

/// The last lines of a task's log.
fn end_of_log(service: &Service, id: TaskId) -> Result<String, ServiceError> {
    let length = service.read_log(id, u64::MAX)?.length;
    let end = service.read_log(id, length.saturating_sub(MOST_BYTES))?;
    let lines: Vec<&str> = end.text.lines().collect();
    Ok(lines[lines.len().saturating_sub(MOST_LINES)..].join("\n"))
}

pub(super) async fn show_task(
    State(app): State<App>,
    Reader(visitor): Reader,
    Path(id): Path<TaskId>,
) -> Result<Response, Problem> {
    let reader = visitor.clone();
    let shown = app
        .run_reading(move |service| ShownTask::read_for_visitor(service, id, &reader))
        .await?;
    let events = format!("/api/v1/tasks/{id}/events");
    let has_ended = !matches!(shown.task.state, TaskState::Waiting | TaskState::Running);
    let title = format!("Task {id}");
    let frame = Frame::new(&title, Some(&visitor), "/queue")
        .with_live_events((!has_ended).then_some(&events));
    Ok(frame
        .render_html(&task_content(&visitor, &shown))
        .into_response())
}

pub(super) async fn cancel_task(
    State(app): State<App>,
    Path(id): Path<TaskId>,
    sent: SentForm,
) -> Result<Response, Problem> {
    let actor = sent.visitor.actor;
    app.run_change(move |service| service.cancel_task(&actor, id))
        .await?;
    Ok(Redirect::to(&format!("/tasks/{id}")).into_response())
}

fn task_content(visitor: &Visitor, shown: &ShownTask) -> Markup {
    let task = &shown.task;
    html! {
        div #state data-live {
            p.headline role="status" { (state_badge(task.state)) " " (task.reason) }
            @if let Some(progress) = &shown.progress { (progress::progress_with_bar(progress)) }
            (facts_list(task, Timestamp::now()))
            (queue::cancel_form(visitor, task))
        }
        section aria-labelledby="log-head" {
            h2 #log-head { "End of the log" }
            @match &shown.log {
                Ok(text) => {
                    pre.log #log data-live tabindex="0" aria-labelledby="log-head" { (text) }
                    p { a href=(format!("/api/v1/tasks/{}/log", task.id)) { "The log from its beginning" } }
                }
                Err(why) => p #log data-live { (why) }
            }
        }
        @if let Some(outcome) = &task.outcome {
            section aria-labelledby="outcome-head" {
                h2 #outcome-head { "Outcome" }
                pre.log tabindex="0" aria-labelledby="outcome-head" { (pretty_json(outcome)) }
            }
        }
    }
}

fn pretty_json(value: &serde_json::Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}

fn facts_list(task: &Task, now: Timestamp) -> Markup {
    let overrides = &task.request.overrides;
    let joined = |values: &[String]| values.join(", ");
    let nodes = overrides.nodes.as_ref().map(|all| {
        let all: Vec<String> = all.iter().map(u32::to_string).collect();
        joined(&all)
    });
    let given = [
        ("Budget", overrides.budget.clone()),
        ("Sizes", overrides.sizes.clone()),
        ("Collectives", overrides.collectives.as_deref().map(joined)),
        ("Nodes", nodes),
    ];
    html! {
        dl {
            dt { "Work" } dd { (task_subject(task)) @if let Some(name) = &task.name { " (" (name) ")" } }
            dt { "Machine" } dd { (task.request.machine.as_deref().unwrap_or_default()) }
            @for (name, value) in given {
                @if let Some(value) = value { dt { (name) } dd { (value) } }
            }
            dt { "Submitted" } dd { (time_element(task.submitted_at)) " by " (task.actor) }
            @if let Some(at) = task.started_at {
                dt { "Started" } dd { (time_element(at)) @if task.ended_at.is_none() { " (" (age_element(at, now)) ")" } }
            }
            @if let Some(at) = task.ended_at { dt { "Ended" } dd { (time_element(at)) } }
            @if let Some(first) = task.follows { dt { "Takes the result of" } dd { (task_link(first)) } }
            dt { "Node-hours" }
            dd {
                (node_hours(task.node_seconds))
                @if let Some(expected) = task.expected_node_seconds { ", expected " (node_hours(expected)) }
            }
            @if task.attempts > 1 { dt { "Attempts" } dd { (task.attempts) } }
            @if let Some(code) = task.exit_code { dt { "Exit code" } dd { (code) } }
            @if let Some(digest) = &task.made { dt { "Made the table" } dd { (table_link(digest)) } }
        }
    }
}

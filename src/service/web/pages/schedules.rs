//! Schedules, and the forms that pause and resume one.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use service::{PauseRequest, Schedule, ScheduleDefinition, Scope};

use super::elements::{
    campaign_link, kind_verb, refusal_box, scroll_box, table_link, task_link, time_element,
};
use super::forms::{Fields, Reader, SentForm};
use super::layout::{Frame, encode_component, form_token};
use super::release::reason_field;
use super::submit::missing_scope_note;
use crate::api::find_visible_schedule;
use crate::extract::Path;
use crate::{App, Problem, Visitor};

pub(super) async fn list_schedules(
    State(app): State<App>,
    Reader(visitor): Reader,
) -> Result<Response, Problem> {
    let readable = visitor.readable_machines();
    let schedules = app
        .run_reading(move |service| service.list_schedules(readable.as_deref(), None))
        .await?;
    let frame = Frame::new("Schedules", Some(&visitor), "/schedules");
    let content = html! {
        @if schedules.is_empty() {
            p { "There are no schedules. " code { "colltune remote schedule" } " makes one." }
        } @else {
            (scroll_box("Schedules", &schedules_table(&schedules)))
        }
    };
    Ok(frame.render_html(&content).into_response())
}

pub(super) fn schedule_address(name: &str) -> String {
    format!("/schedules/{}", encode_component(name))
}

fn schedules_table(schedules: &[Schedule]) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "name" } th scope="col" { "machine" } th scope="col" { "does" }
                th scope="col" { "when" } th scope="col" { "state" } th scope="col" { "newest task" } } }
            tbody {
                @for schedule in schedules {
                    tr {
                        th scope="row" { a href=(schedule_address(&schedule.name)) { (schedule.name) } }
                        td { (schedule.definition.task.machine.as_deref().unwrap_or_default()) }
                        td.words { (describe_work(&schedule.definition)) }
                        td.words { (describe_times(&schedule.definition).join("; ")) }
                        td.words { (describe_state(schedule)) }
                        td { @if let Some(task) = schedule.last_task { (task_link(task)) } }
                    }
                }
            }
        }
    }
}

/// What a schedule does, with links.
fn describe_work(definition: &ScheduleDefinition) -> Markup {
    let ScheduleDefinition { task, channel, .. } = definition;
    html! {
        (kind_verb(task.kind)) " "
        @if let Some(channel) = channel { "the table of " (channel.library) "/" (channel.channel) }
        @if let Some(table) = &task.table { (table_link(table)) }
        @if let Some(path) = &task.campaign {
            @if channel.is_some() || task.table.is_some() { " with " }
            (campaign_link(path))
        }
    }
}

/// When a schedule submits its task, each part in a few words.
fn describe_times(definition: &ScheduleDefinition) -> Vec<String> {
    let events = &definition.events;
    let mut parts = Vec::new();
    parts.extend(definition.times.as_ref().map(|times| format!("at {times}")));
    if events.fingerprint {
        parts.push("after another fingerprint".to_owned());
    }
    if events.suspicion {
        parts.push("after points that suggest a change".to_owned());
    }
    parts.extend(
        events
            .age_days
            .map(|days| format!("{days} days after the last tuning")),
    );
    if !definition.windows.is_empty() {
        parts.push(format!("starts within {}", definition.windows.join(" or ")));
    }
    parts
}

fn describe_state(schedule: &Schedule) -> Markup {
    html! {
        @match (&schedule.paused, schedule.next_at) {
            (Some(pause), _) => { strong { "paused" } " by " (pause.by) ": " (pause.reason) }
            (None, Some(at)) => { "next " (time_element(at)) }
            (None, None) => "waits for an event",
        }
    }
}

pub(super) async fn show_schedule(
    State(app): State<App>,
    Reader(visitor): Reader,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    schedule_page(&app, &visitor, &name, &Fields::default(), None).await
}

pub(super) async fn pause_schedule(
    State(app): State<App>,
    Path(name): Path<String>,
    sent: SentForm,
) -> Result<Response, Problem> {
    change_by_form(&app, &name, &sent, true).await
}

pub(super) async fn resume_schedule(
    State(app): State<App>,
    Path(name): Path<String>,
    sent: SentForm,
) -> Result<Response, Problem> {
    change_by_form(&app, &name, &sent, false).await
}

async fn change_by_form(
    app: &App,
    name: &str,
    sent: &SentForm,
    pauses: bool,
) -> Result<Response, Problem> {
    let SentForm { visitor, fields } = sent;
    find_visible_schedule(app, visitor, name).await?;
    let request = PauseRequest {
        reason: fields.text("reason").to_owned(),
    };
    let (actor, of_name) = (visitor.actor.clone(), name.to_owned());
    let changed = app.run_change(move |service| {
        if pauses {
            service.pause_schedule(&actor, &of_name, &request)
        } else {
            service.resume_schedule(&actor, &of_name, &request)
        }
    });
    match changed.await {
        Ok(_) => Ok(Redirect::to(&schedule_address(name)).into_response()),
        Err(problem) if problem.status.is_server_error() => Err(problem),
        Err(problem) => schedule_page(app, visitor, name, fields, Some(&problem)).await,
    }
}

async fn schedule_page(
    app: &App,
    visitor: &Visitor,
    name: &str,
    fields: &Fields,
    refused: Option<&Problem>,
) -> Result<Response, Problem> {
    let schedule = find_visible_schedule(app, visitor, name).await?;
    let title = format!("Schedule {name}");
    let frame = Frame::new(&title, Some(visitor), "/schedules");
    let machine = schedule.definition.task.machine.as_deref();
    let content = html! {
        (refusal_box(refused))
        p.headline { "On " (machine.unwrap_or_default()) ": " (describe_work(&schedule.definition)) "." }
        p { (describe_state(&schedule)) }
        ul.plain {
            @for part in describe_times(&schedule.definition) { li { (part) } }
            li { "times are those of " (schedule.time_zone) }
            li { "defined by " (schedule.changed_by) ", " (time_element(schedule.changed_at)) }
            @if let Some(pause) = &schedule.paused { li { "paused " (time_element(pause.at)) } }
            @if schedule.failures > 0 { li { "failures in a row: " (schedule.failures) } }
            @if let Some(task) = schedule.last_task { li { "newest task: " (task_link(task)) } }
        }
        section aria-labelledby="pause-head" {
            h2 #pause-head { @if schedule.paused.is_some() { "Resume" } @else { "Pause" } }
            @if let Some(obstacle) = missing_scope_note(visitor, Scope::Submit) { (obstacle) }
            @else { (pause_form(visitor, &schedule, fields)) }
        }
    };
    let status = refused.map_or(StatusCode::OK, |problem| problem.status);
    Ok((status, frame.render_html(&content)).into_response())
}

fn pause_form(visitor: &Visitor, schedule: &Schedule, fields: &Fields) -> Markup {
    let verb = if schedule.paused.is_some() {
        "resume"
    } else {
        "pause"
    };
    let address = format!("{}/{verb}", schedule_address(&schedule.name));
    html! {
        form.stack method="post" action=(address) {
            (form_token(visitor))
            (reason_field("pause-reason", true, fields))
            button { @if schedule.paused.is_some() { "Resume" } @else { "Pause" } }
        }
    }
}

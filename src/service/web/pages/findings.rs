//! Findings, and the form to decide about one.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use service::{
    ChangeControl, FindingCause, FindingFilter, FindingState, FoundChange, ListedFinding, Scope,
    ServiceError, Slice, TrendFinding, TrendQuantity, Triage,
};
use vocabulary::units::{format_counted, format_seconds};

use super::elements::{pager_links, refusal_box, scroll_box, task_link, time_element};
use super::forms::{Fields, Reader, SentForm};
use super::layout::{Frame, form_token, with_query};
use super::release::reason_field;
use super::submit::missing_scope_note;
use super::tables::readable_machine_names;
use super::trends::series_address;
use crate::api::find_visible_finding;
use crate::extract::{Path, Query};
use crate::{App, Problem, Visitor};

#[derive(Debug, Default, Deserialize)]
pub(super) struct FindingsQuery {
    #[serde(default)]
    state: String,
    #[serde(default)]
    machine: String,
    #[serde(default)]
    before: Option<u64>,
}

pub(super) async fn list_findings(
    State(app): State<App>,
    Reader(visitor): Reader,
    Query(asked): Query<FindingsQuery>,
) -> Result<Response, Problem> {
    let state = Some(asked.state.as_str()).filter(|word| !word.is_empty());
    let filter = FindingFilter {
        state: state.map(parse_state).transpose()?,
        machine: Some(asked.machine.clone()).filter(|name| !name.is_empty()),
        machines: visitor.readable_machines(),
    };
    let slice = Slice {
        before: asked.before,
        limit: None,
    };
    let reader = visitor.clone();
    let (findings, machines) = app
        .run_reading(move |service| {
            let findings = service.list_findings(&filter, slice)?;
            Ok((findings, readable_machine_names(service, &reader)))
        })
        .await?;
    let fields = [("state", &*asked.state), ("machine", &*asked.machine)];
    let frame = Frame::new("Findings", Some(&visitor), "/findings");
    let content = html! {
        form.row method="get" action="/findings" role="search" aria-label="Filter the findings" {
            div {
                label for="state" { "State" }
                select #state name="state" {
                    option value="" { "any" }
                    @for choice in FindingState::ALL {
                        option value=(choice) selected[choice.to_string() == asked.state] { (choice) }
                    }
                }
            }
            div {
                label for="machine" { "Machine" }
                select #machine name="machine" {
                    option value="" { "any" }
                    @for name in &machines { option value=(name) selected[*name == asked.machine] { (name) } }
                }
            }
            button.quiet { "Filter" }
        }
        @if findings.items.is_empty() {
            p { "No check or validation has found a change. " a href="/trends" { "Trends" } " has what they measured." }
        } @else {
            (scroll_box("Findings", &findings_table(&findings.items)))
        }
        (pager_links(&with_query("/findings", &fields), asked.before, findings.next))
    };
    Ok(frame.render_html(&content).into_response())
}

fn parse_state(word: &str) -> Result<FindingState, ServiceError> {
    word.parse().map_err(|_| ServiceError::Invalid {
        field: "state",
        problem: format!("`{word}` is none of open, acknowledged, accepted, fixed, invalid"),
    })
}

pub(super) fn finding_address(id: u64) -> String {
    format!("/findings/{id}")
}

/// What was found, in a few words.
fn describe(cause: FindingCause, slower: bool) -> &'static str {
    match (cause, slower) {
        (FindingCause::Algorithm, true) => "the table's choice became slower",
        (FindingCause::Algorithm, false) => "the table's choice became faster",
        (FindingCause::Machine, true) => "the machine or the library became slower",
        (FindingCause::Machine, false) => "the machine or the library became faster",
    }
}

fn findings_table(findings: &[ListedFinding]) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "finding" } th scope="col" { "state" } th scope="col" { "what" }
                th scope="col" { "machine" } th scope="col" { "library" } th scope="col" { "found" }
                th.number scope="col" { "changes" } } }
            tbody {
                @for finding in findings {
                    tr {
                        th scope="row" { a href=(finding_address(finding.id)) { "finding " (finding.id) } }
                        td { (finding.state) }
                        td.words { (describe(finding.cause, finding.slower)) }
                        td { (finding.machine) }
                        td { (finding.library) }
                        td { (time_element(finding.found_at)) }
                        td.number { (finding.changes) }
                    }
                }
            }
        }
    }
}

pub(super) async fn show_finding(
    State(app): State<App>,
    Reader(visitor): Reader,
    Path(id): Path<u64>,
) -> Result<Response, Problem> {
    finding_page(&app, &visitor, id, &Fields::default(), None).await
}

/// Decides about a finding by the form of its page.
pub(super) async fn decide_finding(
    State(app): State<App>,
    Path(id): Path<u64>,
    sent: SentForm,
) -> Result<Response, Problem> {
    let SentForm { visitor, fields } = &sent;
    find_visible_finding(&app, visitor, id).await?;
    match decide_by_form(&app, visitor, id, fields).await {
        Ok(()) => Ok(Redirect::to(&finding_address(id)).into_response()),
        Err(problem) if problem.status.is_server_error() => Err(problem),
        Err(problem) => finding_page(&app, visitor, id, fields, Some(&problem)).await,
    }
}

async fn decide_by_form(
    app: &App,
    visitor: &Visitor,
    id: u64,
    fields: &Fields,
) -> Result<(), Problem> {
    let triage = Triage {
        state: parse_state(fields.text("state"))?,
        reason: fields.text("reason").to_owned(),
    };
    let actor = visitor.actor.clone();
    app.run_change(move |service| service.decide_finding(&actor, id, &triage))
        .await
        .map(drop)
}

async fn finding_page(
    app: &App,
    visitor: &Visitor,
    id: u64,
    fields: &Fields,
    refused: Option<&Problem>,
) -> Result<Response, Problem> {
    let finding = find_visible_finding(app, visitor, id).await?;
    let title = format!("Finding {id}");
    let frame = Frame::new(&title, Some(visitor), "/findings");
    let content = html! {
        (refusal_box(refused))
        p.headline { "On " (finding.machine) " with " (finding.library) ", " (describe(finding.cause, finding.slower)) "." }
        p { "Found " (time_element(finding.found_at)) "; state: " strong { (finding.state) } "." }
        section aria-labelledby="changes-head" {
            h2 #changes-head { "Changes" }
            (scroll_box("Changes", &changes_table(&finding.changes)))
        }
        @if !finding.notes.is_empty() {
            section aria-labelledby="notes-head" {
                h2 #notes-head { "Decisions" }
                ul.plain {
                    @for note in &finding.notes {
                        li { (time_element(note.at)) ", " (note.actor) ": " strong { (note.state) } ", " (note.reason) }
                    }
                }
            }
        }
        section aria-labelledby="decide-head" {
            h2 #decide-head { "Decide" }
            @if let Some(obstacle) = missing_scope_note(visitor, Scope::Publish) { (obstacle) }
            @else { (decision_form(visitor, &finding, fields)) }
        }
    };
    let status = refused.map_or(StatusCode::OK, |problem| problem.status);
    Ok((status, frame.render_html(&content)).into_response())
}

fn changes_table(changes: &[FoundChange]) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "series" } th scope="col" { "what" } th.number scope="col" { "before" }
                th.number scope="col" { "after" } th.number scope="col" { "change" } th scope="col" { "control" }
                th scope="col" { "since" }
                th scope="col" { "found by" } } }
            tbody {
                @for change in changes {
                    tr {
                        th scope="row" { a href=(series_address(change.series)) { (change.name) } }
                        td { @match change.quantity {
                            TrendQuantity::Ratio => "time relative to the default",
                            TrendQuantity::Default => "the default's time",
                        } }
                        td.number { (format_value(change.quantity, change.before)) }
                        td.number { (format_value(change.quantity, change.after)) }
                        td.number { (format!("{:+.1} %", 100.0 * (change.after / change.before - 1.0))) }
                        td { @if let Some(control) = &change.control { (control_cell(control)) } @else { "none" } }
                        td { (time_element(change.began_at)) }
                        td { (task_link(change.found_by)) }
                    }
                }
            }
        }
    }
}

/// What another table's choice for the same call did meanwhile.
fn control_cell(control: &ChangeControl) -> Markup {
    html! {
        a href=(series_address(control.series)) { (control.chosen) }
        ": " (format!("{:.3}", control.before)) " before, " (format!("{:.3}", control.after)) " after, over "
        (format_counted(control.points_after, "point"))
    }
}

fn format_value(quantity: TrendQuantity, value: f64) -> String {
    match quantity {
        TrendQuantity::Ratio => format!("{value:.3}"),
        TrendQuantity::Default => format_seconds(value),
    }
}

/// What people can decide.
const DECISIONS: [(FindingState, &str); 5] = [
    (FindingState::Acknowledged, "a person examines the cause"),
    (FindingState::Accepted, "this is the new level"),
    (FindingState::Fixed, "the reason is gone"),
    (
        FindingState::Invalid,
        "no change of the machine or the table",
    ),
    (FindingState::Open, "no decision has been made"),
];

fn decision_form(visitor: &Visitor, finding: &TrendFinding, fields: &Fields) -> Markup {
    let others = DECISIONS
        .iter()
        .filter(|(state, _)| *state != finding.state);
    html! {
        form.stack method="post" action=(finding_address(finding.id)) {
            (form_token(visitor))
            label for="decision" { "State" }
            select #decision name="state" {
                @for (state, meaning) in others {
                    option value=(state) selected[state.to_string() == fields.text("state")] { (state) ": " (meaning) }
                }
            }
            (reason_field("decision-reason", true, fields))
            button { "Decide" }
        }
    }
}

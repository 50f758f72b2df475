//! The form that submits a task, and its handling.

use jiff::Timestamp;
use maud::{Markup, html};
use service::{CampaignEntry, Overrides, Scope, ServiceError, TaskId, TaskKind, TaskRequest};
use table::Deployment;

use super::elements::refusal_box;
use super::forms::{Fields, SentForm};
use super::layout::form_token;
use crate::{App, Problem, Visitor};

/// The form with the values `fields`.
pub(super) fn task_form(
    visitor: &Visitor,
    campaigns: &[CampaignEntry],
    machines: &[String],
    fields: &Fields,
    refused: Option<&Problem>,
) -> Markup {
    let readable = || campaigns.iter().filter(|entry| entry.problem.is_none());
    html! {
        (refusal_box(refused))
        @if let Some(obstacle) = missing_scope_note(visitor, Scope::Submit) { (obstacle) }
        @else if readable().next().is_none() {
            p { "No campaign in the service's folder can be read. " a href="/campaigns" { "See the reasons" } "." }
        } @else {
            form.stack method="post" action="/queue" {
                (form_token(visitor))
                (idempotency_field(fields))
                label for="submit-campaign" { "Campaign" }
                select #submit-campaign name="campaign" required {
                    @for entry in readable() {
                        option value=(entry.path) selected[entry.path == fields.text("campaign")] {
                            (entry.path) @if let Some(name) = &entry.name { " (" (name) ")" }
                        }
                    }
                }
                label for="submit-machine" { "Machine" }
                select #submit-machine name="machine" required {
                    @for name in machines { option value=(name) selected[name == fields.text("machine")] { (name) } }
                }
                label for="kind" { "Kind" }
                select #kind name="kind" {
                    option value="tune" { "tune: measure, decide, make a table" }
                    option value="report" selected[fields.text("kind") == "report"] { "report: write a report of the measurements" }
                }
                fieldset {
                    legend { "Overrides of the campaign's values, for tune" }
                    (override_field("budget", "Budget", "as in 10m", fields))
                    (override_field("sizes", "Sizes", "as in 64, 16K or 8..1M x8", fields))
                    (override_field("collectives", "Collectives", "as in bcast, allreduce", fields))
                    (override_field("nodes", "Nodes", "as in 1, 2: only the campaign's shapes with these numbers of nodes", fields))
                }
                button { "Submit" }
            }
        }
    }
}

fn override_field(name: &str, label: &str, help: &str, fields: &Fields) -> Markup {
    let help_id = format!("{name}-help");
    html! {
        div {
            label for=(format!("submit-{name}")) { (label) }
            input id=(format!("submit-{name}")) name=(name) value=(fields.text(name)) maxlength="1000"
                spellcheck="false" autocomplete="off" aria-describedby=(help_id);
            span.help id=(help_id) { (help) }
        }
    }
}

/// A hidden field with an idempotency key, so that a second click on the button adds nothing.
pub(super) fn idempotency_field(fields: &Fields) -> Markup {
    let key = match fields.nonempty_text("key") {
        Some(key) => key.to_owned(),
        None => format!("page-{}", Timestamp::now().as_nanosecond()),
    };
    html! { input type="hidden" name="key" value=(key); }
}

/// The reason why a visitor does not get a form that needs a scope on some machine; `None` if they get it.
pub(super) fn missing_scope_note(visitor: &Visitor, scope: Scope) -> Option<Markup> {
    let first = visitor.actor.machines.first();
    let may = visitor.actor.has_scope(scope, first.map(String::as_str));
    match (visitor.is_anonymous(), may) {
        (true, _) => Some(html! { p { a href="/login" { "Log in" } " to do this." } }),
        (_, false) => {
            Some(html! { p { "This needs a token with the scope " code { (scope) } "." } })
        }
        (false, true) => None,
    }
}

/// Submits the task of this form, or of the one on a table's page.
pub(super) async fn submit_sent(app: &App, sent: &SentForm) -> Result<TaskId, Problem> {
    let request = request_from_fields(&sent.fields)?;
    let actor = sent.visitor.actor.clone();
    let key = sent.fields.nonempty_text("key").map(str::to_owned);
    let submitted = app
        .run_slow_change(move |service| service.submit_task(&actor, &request, key.as_deref()))
        .await?;
    Ok(submitted.task.id)
}

fn parse_deployment(word: &str) -> Result<Deployment, ServiceError> {
    let mut all = Deployment::ALL.into_iter();
    let found = all.find(|deployment| word == <&str>::from(deployment));
    found.ok_or_else(|| ServiceError::Invalid {
        field: "deployment",
        problem: "must be `colltune` or `library`".to_owned(),
    })
}

fn request_from_fields(fields: &Fields) -> Result<TaskRequest, ServiceError> {
    let invalid = |field, problem: String| ServiceError::Invalid { field, problem };
    let kind: TaskKind = fields.text("kind").parse().map_err(|_| {
        invalid(
            "kind",
            "must be one of tune, validate, check and report".to_owned(),
        )
    })?;
    let table = fields.nonempty_text("table").map(str::parse).transpose();
    let owned = |name| fields.nonempty_text(name).map(str::to_owned);
    let nodes = fields.list_items("nodes").map(|all| {
        let count = |text: &String| {
            text.parse().map_err(|_| {
                invalid(
                    "nodes",
                    format!("`{text}` is not a number of nodes; write numbers as in 1, 2"),
                )
            })
        };
        all.iter().map(count).collect::<Result<Vec<u32>, _>>()
    });
    Ok(TaskRequest {
        kind,
        machine: owned("machine"),
        campaign: owned("campaign"),
        table: table.map_err(|reason: &str| invalid("table", reason.to_owned()))?,
        deployment: fields
            .nonempty_text("deployment")
            .map(parse_deployment)
            .transpose()?,
        overrides: match kind {
            TaskKind::Tune => Overrides {
                budget: owned("budget"),
                sizes: owned("sizes"),
                collectives: fields.list_items("collectives"),
                nodes: nodes.transpose()?,
            },
            _ => Overrides::default(),
        },
    })
}

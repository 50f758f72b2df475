//! The page of webhooks.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use service::{NewWebhook, Scope, ServiceError, Webhook, WebhookEvent};

use super::elements::{refusal_box, scroll_box, time_element};
use super::forms::{Fields, Reader, SentForm};
use super::layout::{Frame, form_token};
use super::tables::readable_machine_names;
use crate::extract::Path;
use crate::{App, Problem, Visitor};

pub(super) async fn list_webhooks(
    State(app): State<App>,
    Reader(visitor): Reader,
) -> Result<Response, Problem> {
    webhooks_page(&app, &visitor, &Fields::default(), None, None).await
}

pub(super) async fn make_webhook(
    State(app): State<App>,
    sent: SentForm,
) -> Result<Response, Problem> {
    let SentForm { visitor, fields } = &sent;
    match make_from_fields(&app, visitor, fields).await {
        Ok(secret) => webhooks_page(&app, visitor, &Fields::default(), Some(&secret), None).await,
        Err(problem) if problem.status == StatusCode::UNPROCESSABLE_ENTITY => {
            webhooks_page(&app, visitor, fields, None, Some(&problem)).await
        }
        Err(problem) => Err(problem),
    }
}

/// Makes the webhook of a form, and returns its secret.
async fn make_from_fields(
    app: &App,
    visitor: &Visitor,
    fields: &Fields,
) -> Result<String, Problem> {
    let events = fields.all_values("event").map(|name| {
        name.parse().map_err(|_| ServiceError::Invalid {
            field: "events",
            problem: format!("`{name}` is no event"),
        })
    });
    let new = NewWebhook {
        url: fields.text("url").to_owned(),
        events: events.collect::<Result<_, _>>()?,
        machines: fields.all_values("machine").map(str::to_owned).collect(),
    };
    let actor = visitor.actor.clone();
    let made = app.run_change(move |service| service.make_webhook(&actor, &new));
    Ok(made.await?.0)
}

pub(super) async fn test_webhook(
    State(app): State<App>,
    Path(id): Path<u64>,
    sent: SentForm,
) -> Result<Response, Problem> {
    app.run_change(move |service| service.test_webhook(&sent.visitor.actor, id))
        .await?;
    Ok(Redirect::to("/webhooks").into_response())
}

pub(super) async fn remove_webhook(
    State(app): State<App>,
    Path(id): Path<u64>,
    sent: SentForm,
) -> Result<Response, Problem> {
    app.run_change(move |service| service.remove_webhook(&sent.visitor.actor, id))
        .await?;
    Ok(Redirect::to("/webhooks").into_response())
}

async fn webhooks_page(
    app: &App,
    visitor: &Visitor,
    fields: &Fields,
    secret: Option<&str>,
    refused: Option<&Problem>,
) -> Result<Response, Problem> {
    visitor.actor.require_scope(Scope::Admin, None)?;
    let reader = visitor.clone();
    let (webhooks, machines) = app
        .run_reading(move |service| {
            let webhooks = service.list_webhooks(&reader.actor)?;
            Ok((webhooks, readable_machine_names(service, &reader)))
        })
        .await?;
    let frame = Frame::new("Webhooks", Some(visitor), "/webhooks");
    let content = html! {
        (refusal_box(refused))
        @if let Some(secret) = secret {
            div.made role="status" {
                p { "The secret of the new webhook is shown only now: it verifies the signatures of its messages." }
                p { code { (secret) } }
            }
        }
        @if webhooks.is_empty() {
            p { "Nothing is told of events." }
        } @else {
            (scroll_box("Webhooks", &webhooks_table(visitor, &webhooks)))
        }
        section aria-labelledby="make-head" {
            h2 #make-head { "Make a webhook" }
            (webhook_form(visitor, &machines, fields))
        }
    };
    let status = refused.map_or(StatusCode::OK, |problem| problem.status);
    Ok((status, frame.render_html(&content)).into_response())
}

fn webhooks_table(visitor: &Visitor, webhooks: &[Webhook]) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "webhook" } th scope="col" { "address" } th scope="col" { "events" }
                th scope="col" { "machines" } th scope="col" { "state" } th scope="col" { span.unseen { "change" } } } }
            tbody {
                @for webhook in webhooks {
                    tr {
                        th scope="row" { (webhook.id) }
                        td.words { (webhook.url) }
                        td.words { @if webhook.events.is_empty() { "all" } @else { (joined_events(&webhook.events)) } }
                        td { @if webhook.machines.is_empty() { "all" } @else { (webhook.machines.join(", ")) } }
                        td.words { (delivery_state(webhook)) }
                        td {
                            form method="post" action=(format!("/webhooks/{}/test", webhook.id)) {
                                (form_token(visitor))
                                button.quiet aria-label=(format!("Test webhook {}", webhook.id)) { "Test" }
                            }
                            form method="post" action=(format!("/webhooks/{}/remove", webhook.id)) {
                                (form_token(visitor))
                                button.quiet aria-label=(format!("Remove webhook {}", webhook.id)) { "Remove" }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn joined_events(events: &[WebhookEvent]) -> String {
    let names: Vec<&str> = events.iter().map(<&str>::from).collect();
    names.join(", ")
}

fn delivery_state(webhook: &Webhook) -> Markup {
    html! {
        @match webhook.delivered_at {
            Some(at) => { "last arrived " (time_element(at)) }
            None => "nothing has arrived yet",
        }
        @if webhook.waiting > 0 { "; waiting: " (webhook.waiting) }
        @if webhook.failed > 0 { "; undelivered: " (webhook.failed) }
        @if let Some(problem) = &webhook.problem { "; " strong { (problem) } }
    }
}

fn webhook_form(visitor: &Visitor, machines: &[String], fields: &Fields) -> Markup {
    let is_chosen = |field, value: &str| fields.all_values(field).any(|chosen| chosen == value);
    html! {
        form.stack method="post" action="/webhooks" {
            (form_token(visitor))
            label for="url" { "Address" }
            input #url name="url" type="url" required maxlength="2000" autocomplete="off" value=(fields.text("url"));
            fieldset {
                legend { "Events (none chosen: all)" }
                @for event in WebhookEvent::CHOICES {
                    label.check {
                        input type="checkbox" name="event" value=(event) checked[is_chosen("event", &event.to_string())];
                        " " (event)
                    }
                }
            }
            fieldset {
                legend { "Machines (none chosen: all)" }
                @for name in machines {
                    label.check { input type="checkbox" name="machine" value=(name) checked[is_chosen("machine", name)]; " " (name) }
                }
            }
            button { "Make the webhook" }
        }
    }
}

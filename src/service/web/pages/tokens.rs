//! The page of tokens.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use jiff::Timestamp;
use maud::{Markup, html};
use service::{NewToken, Scope, SecretToken, ServiceError, TokenRow};

use super::elements::{refusal_box, scroll_box, time_element};
use super::forms::{Fields, Reader, SentForm};
use super::layout::{Frame, form_token};
use super::tables::readable_machine_names;
use crate::extract::Path;
use crate::{App, Problem, Visitor};

const SCOPES: [(Scope, &str); 6] = [
    (Scope::Read, "see everything but tokens and the audit"),
    (Scope::Submit, "submit and cancel tasks"),
    (Scope::Publish, "release tables, roll back, withdraw"),
    (Scope::Usage, "send lines about jobs"),
    (
        Scope::Agent,
        "take tasks of machines as their agent, and report results",
    ),
    (
        Scope::Admin,
        "all of these, tokens, the audit, and overriding gates",
    ),
];

pub(super) async fn list_tokens(
    State(app): State<App>,
    Reader(visitor): Reader,
) -> Result<Response, Problem> {
    tokens_page(&app, &visitor, &Fields::default(), None, None).await
}

pub(super) async fn make_token(
    State(app): State<App>,
    sent: SentForm,
) -> Result<Response, Problem> {
    let SentForm { visitor, fields } = &sent;
    match make_from_fields(&app, visitor, fields).await {
        Ok(made) => tokens_page(&app, visitor, &Fields::default(), Some(&made), None).await,
        Err(problem) if problem.status == StatusCode::UNPROCESSABLE_ENTITY => {
            tokens_page(&app, visitor, fields, None, Some(&problem)).await
        }
        Err(problem) => Err(problem),
    }
}

async fn make_from_fields(
    app: &App,
    visitor: &Visitor,
    fields: &Fields,
) -> Result<(SecretToken, TokenRow), Problem> {
    let scopes = fields.all_values("scope").map(|name| {
        name.parse().map_err(|_| ServiceError::Invalid {
            field: "scopes",
            problem: format!("`{name}` is none of read, submit, publish, agent, usage, admin"),
        })
    });
    let new = NewToken {
        name: fields.text("name").to_owned(),
        scopes: scopes.collect::<Result<_, _>>()?,
        machines: fields.all_values("machine").map(str::to_owned).collect(),
        days: fields.parse_number("days")?,
    };
    let actor = visitor.actor.clone();
    app.run_change(move |service| service.make_token(&actor, &new))
        .await
}

pub(super) async fn revoke_token(
    State(app): State<App>,
    Path(id): Path<u64>,
    sent: SentForm,
) -> Result<Response, Problem> {
    let actor = sent.visitor.actor;
    app.run_change(move |service| service.revoke_token(&actor, id))
        .await?;
    Ok(Redirect::to("/tokens").into_response())
}

async fn tokens_page(
    app: &App,
    visitor: &Visitor,
    fields: &Fields,
    made: Option<&(SecretToken, TokenRow)>,
    refused: Option<&Problem>,
) -> Result<Response, Problem> {
    let actor = visitor.actor.clone();
    let reader = visitor.clone();
    let (tokens, machines) = app
        .run_reading(move |service| {
            Ok((
                service.list_tokens(&actor)?,
                readable_machine_names(service, &reader),
            ))
        })
        .await?;
    let frame = Frame::new("Tokens", Some(visitor), "/tokens");
    let content = html! {
        (refusal_box(refused))
        @if let Some((secret, row)) = made {
            div.shown-once role="status" {
                p { "The token " strong { (row.name) } " was made. Copy it now, it is not shown again:" }
                p { code.secret { (secret.expose()) } }
            }
        }
        (scroll_box("Tokens", &tokens_table(visitor, &tokens)))
        section aria-labelledby="new-head" {
            h2 #new-head { "Make a token" }
            (token_form(visitor, &machines, fields))
        }
    };
    let status = refused.map_or(StatusCode::OK, |problem| problem.status);
    Ok((status, frame.render_html(&content)).into_response())
}

fn tokens_table(visitor: &Visitor, tokens: &[TokenRow]) -> Markup {
    let now = Timestamp::now();
    let joined = |row: &TokenRow| {
        let scopes: Vec<String> = row.scopes.iter().map(Scope::to_string).collect();
        scopes.join(", ")
    };
    html! {
        table {
            thead { tr { th scope="col" { "name" } th scope="col" { "scopes" } th scope="col" { "machines" }
                th scope="col" { "made" } th scope="col" { "by" } th scope="col" { "state" } th scope="col" { span.unseen { "revoke" } } } }
            tbody {
                @for row in tokens {
                    tr {
                        th scope="row" { (row.name) }
                        td { (joined(row)) }
                        td { @if row.machines.is_empty() { "all" } @else { (row.machines.join(", ")) } }
                        td { (time_element(row.created_at)) }
                        td { (row.created_by) }
                        td {
                            @match (row.revoked_at, row.expires_at) {
                                (Some(at), _) => { "revoked " (time_element(at)) }
                                (None, Some(at)) if at <= now => { "expired " (time_element(at)) }
                                (None, Some(at)) => { "valid until " (time_element(at)) }
                                (None, None) => "valid",
                            }
                        }
                        td {
                            @if row.revoked_at.is_none() {
                                form method="post" action=(format!("/tokens/{}/revoke", row.id)) {
                                    (form_token(visitor))
                                    button.quiet aria-label=(format!("Revoke the token {}", row.name)) { "Revoke" }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn token_form(visitor: &Visitor, machines: &[String], fields: &Fields) -> Markup {
    let is_chosen = |field, value: &str| fields.all_values(field).any(|chosen| chosen == value);
    html! {
        form.stack method="post" action="/tokens" {
            (form_token(visitor))
            label for="name" { "Name" }
            input #name name="name" required maxlength="64" autocomplete="off" value=(fields.text("name"));
            fieldset {
                legend { "Scopes" }
                @for (scope, meaning) in SCOPES {
                    label.check {
                        input type="checkbox" name="scope" value=(scope) checked[is_chosen("scope", &scope.to_string())];
                        " " strong { (scope) } ": " (meaning)
                    }
                }
            }
            fieldset {
                legend { "Machines (none chosen: all)" }
                @for name in machines {
                    label.check { input type="checkbox" name="machine" value=(name) checked[is_chosen("machine", name)]; " " (name) }
                }
            }
            label for="days" { "Days until it expires (empty: never)" }
            input #days name="days" type="number" min="1" max="3650" inputmode="numeric" value=(fields.text("days"));
            button { "Make the token" }
        }
    }
}

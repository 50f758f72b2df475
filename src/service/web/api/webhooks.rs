//! Webhooks, for administrators.

use answers::MadeWebhook;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use service::{NewWebhook, Webhook};

use crate::extract::{self, Path};
use crate::json::Json;
use crate::state::Encoded;
use crate::{App, Problem, Visitor};

/// All webhooks, without their secrets. Needs the scope `admin`.
#[utoipa::path(
    get, path = "/api/v1/webhooks", tag = "webhooks",
    responses(
        (status = 200, body = Vec<Webhook>),
        (status = 401, body = Problem), (status = 403, body = Problem),
    )
)]
pub(crate) async fn list_webhooks(
    State(app): State<App>,
    visitor: Visitor,
) -> Result<Encoded, Problem> {
    app.read_as_json(move |service| service.list_webhooks(&visitor.actor))
        .await
}

/// Makes a webhook. Needs the scope `admin`.
///
/// Messages are signed as Standard Webhooks are (HMAC-SHA256, `v1`), and are repeated with growing pauses for a day and a
/// half until the receiver answers with a status of 200 to 299. Redirects are not followed.
#[utoipa::path(
    post, path = "/api/v1/webhooks", tag = "webhooks", request_body = NewWebhook,
    responses(
        (status = 201, description = "The webhook; its secret is shown only here", body = MadeWebhook),
        (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 409, description = "There are too many webhooks", body = Problem),
        (status = 413, body = Problem), (status = 415, body = Problem), (status = 422, body = Problem),
        (status = 507, description = "The disk is full", body = Problem),
    )
)]
pub(crate) async fn make_webhook(
    State(app): State<App>,
    visitor: Visitor,
    extract::Json(new): extract::Json<NewWebhook>,
) -> Result<impl IntoResponse, Problem> {
    let made = app.run_change(move |service| service.make_webhook(&visitor.actor, &new));
    let (secret, webhook) = made.await?;
    let location = format!("/api/v1/webhooks/{}", webhook.id);
    Ok((
        StatusCode::CREATED,
        [(header::LOCATION, location)],
        Json(MadeWebhook { secret, webhook }),
    ))
}

/// Removes a webhook with its messages. Needs the scope `admin`.
#[utoipa::path(
    delete, path = "/api/v1/webhooks/{id}", tag = "webhooks", params(("id" = u64, Path)),
    responses(
        (status = 204, description = "The webhook is removed"),
        (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem),
    )
)]
pub(crate) async fn remove_webhook(
    State(app): State<App>,
    visitor: Visitor,
    Path(id): Path<u64>,
) -> Result<StatusCode, Problem> {
    app.run_change(move |service| service.remove_webhook(&visitor.actor, id))
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Sends a message of the event `test` to a webhook. Needs the scope `admin`.
#[utoipa::path(
    post, path = "/api/v1/webhooks/{id}/test", tag = "webhooks", params(("id" = u64, Path)),
    responses(
        (status = 202, description = "The message is sent soon; the webhook says whether it arrived", body = Webhook),
        (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem),
        (status = 507, description = "The disk is full", body = Problem),
    )
)]
pub(crate) async fn test_webhook(
    State(app): State<App>,
    visitor: Visitor,
    Path(id): Path<u64>,
) -> Result<impl IntoResponse, Problem> {
    let tested = app.run_change(move |service| service.test_webhook(&visitor.actor, id));
    Ok((StatusCode::ACCEPTED, Json(tested.await?)))
}

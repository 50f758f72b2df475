//! Tokens and the audit, for administrators.

use answers::MadeToken;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use service::{AuditRow, NewToken, Page, Slice, TokenRow};

use crate::extract::{self, Path, Query};
use crate::json::Json;
use crate::state::Encoded;
use crate::{App, Problem, Visitor};

/// All tokens, without their secrets. Needs the scope `admin`.
#[utoipa::path(
    get, path = "/api/v1/tokens", tag = "tokens",
    responses(
        (status = 200, body = Vec<TokenRow>),
        (status = 401, body = Problem), (status = 403, body = Problem),
    )
)]
pub(crate) async fn list_tokens(
    State(app): State<App>,
    visitor: Visitor,
) -> Result<Encoded, Problem> {
    app.read_as_json(move |service| service.list_tokens(&visitor.actor))
        .await
}

/// Makes a token. Needs the scope `admin`.
#[utoipa::path(
    post, path = "/api/v1/tokens", tag = "tokens", request_body = NewToken,
    responses(
        (status = 201, description = "The token; its secret is shown only here", body = MadeToken),
        (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 409, description = "Another token has the name", body = Problem),
        (status = 413, body = Problem), (status = 415, body = Problem), (status = 422, body = Problem),
    )
)]
pub(crate) async fn make_token(
    State(app): State<App>,
    visitor: Visitor,
    extract::Json(new): extract::Json<NewToken>,
) -> Result<impl IntoResponse, Problem> {
    let made = app.run_change(move |service| service.make_token(&visitor.actor, &new));
    let (secret, token) = made.await?;
    let location = format!("/api/v1/tokens/{}", token.id);
    let made_token = MadeToken {
        secret: secret.expose().to_owned(),
        token,
    };
    Ok((
        StatusCode::CREATED,
        [(header::LOCATION, location)],
        Json(made_token),
    ))
}

/// Revokes a token and its sessions. Needs the scope `admin`. Revoking again is no error.
#[utoipa::path(
    delete, path = "/api/v1/tokens/{id}", tag = "tokens", params(("id" = u64, Path)),
    responses(
        (status = 204, description = "The token is revoked"),
        (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem),
    )
)]
pub(crate) async fn revoke_token(
    State(app): State<App>,
    visitor: Visitor,
    Path(id): Path<u64>,
) -> Result<StatusCode, Problem> {
    app.run_change(move |service| service.revoke_token(&visitor.actor, id))
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The audit, newest first. Needs the scope `admin`.
#[utoipa::path(
    get, path = "/api/v1/audit", tag = "tokens", params(Slice),
    responses(
        (status = 200, body = Page<AuditRow>),
        (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
    )
)]
pub(crate) async fn read_audit(
    State(app): State<App>,
    visitor: Visitor,
    Query(slice): Query<Slice>,
) -> Result<Encoded, Problem> {
    app.read_as_json(move |service| service.read_audit(&visitor.actor, slice))
        .await
}

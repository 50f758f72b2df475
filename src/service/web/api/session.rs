//! Sessions of browsers.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::json::Json;
use crate::{App, Peer, Problem, Visitor, extract, sessions};

/// A token to exchange for a session.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogIn {
    /// The secret of the token.
    token: String,
}

/// A session.
#[derive(Serialize, ToSchema)]
pub(crate) struct Session {
    /// The value of the header `X-Form-Token` for changes made in this session.
    form_token: String,
}

/// Exchanges a token for a session cookie, which is valid for 12 hours; over loopback, for this user of the host alone.
#[utoipa::path(
    post, path = "/api/v1/session", tag = "session", request_body = LogIn,
    responses(
        (status = 201, description = "`Set-Cookie` has the session", body = Session),
        (status = 400, body = Problem), (status = 401, description = "A wrong token", body = Problem),
        (status = 403, description = "The request comes from a page of another site, or over loopback from an unknown user", body = Problem),
        (status = 413, body = Problem), (status = 415, body = Problem), (status = 422, body = Problem),
        (status = 429, description = "A wrong token after too many others", body = Problem),
    )
)]
pub(crate) async fn begin_session(
    State(app): State<App>,
    peer: Peer,
    extract::Json(LogIn { token }): extract::Json<LogIn>,
) -> Result<impl IntoResponse, Problem> {
    let begun = sessions::begin_session(&app, peer, &token).await?;
    let session = Session {
        form_token: begun.form_token,
    };
    Ok((
        StatusCode::CREATED,
        [(header::SET_COOKIE, begun.cookie)],
        Json(session),
    ))
}

/// Ends the session of the cookie.
#[utoipa::path(
    delete, path = "/api/v1/session", tag = "session",
    params(("X-Form-Token" = Option<String>, Header)),
    responses(
        (status = 204, description = "The session has ended"),
        (status = 401, body = Problem), (status = 403, body = Problem),
    )
)]
pub(crate) async fn end_session(
    State(app): State<App>,
    visitor: Visitor,
) -> Result<impl IntoResponse, Problem> {
    let cookie = sessions::log_out(&app, &visitor).await?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]))
}

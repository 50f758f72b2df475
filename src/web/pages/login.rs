//! Where a token is exchanged for a session.

use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, SET_COOKIE};
use axum::response::{IntoResponse, Redirect, Response};
use maud::html;
use serde::Deserialize;

use super::elements::refusal;
use super::forms::{Fields, Sent};
use super::layout::Frame;
use crate::{App, Problem, auth};

#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    next: String,
}

pub(super) async fn show(Query(asked): Query<Asked>) -> Response {
    page(&asked.next, None).into_response()
}

fn page(next: &str, refused: Option<&str>) -> axum::response::Html<String> {
    let frame = Frame {
        title: "Log in",
        visitor: None,
        place: "",
        events: None,
    };
    frame.html(&html! {
        (refusal(refused))
        form.stack method="post" action="/login" {
            input type="hidden" name="next" value=(own_address(next));
            label for="token" { "Token" }
            input #token type="password" name="token" required autocomplete="current-password" maxlength="256"
                spellcheck="false" aria-describedby="token-help" aria-invalid=[refused.map(|_| "true")];
            p.help #token-help {
                "Without a configuration file, " code { "colltune serve" } " prints a token at its start. "
                "An administrator makes others under Tokens. The session ends after 12 hours."
            }
            button { "Log in" }
        }
    })
}

/// The exchange. Whoever asks is not known yet, so that there is no form token; the middleware checks `Origin`.
pub(super) async fn begin(State(app): State<App>, fields: Fields) -> Result<Response, Problem> {
    let token = fields.text("token").to_owned();
    let begun = app.ask(move |service| service.begin_session(&token)).await?;
    let Some((secret, lifetime)) = begun else {
        let text = "this token is unknown, expired or revoked";
        return Ok((StatusCode::UNAUTHORIZED, page(fields.text("next"), Some(text))).into_response());
    };
    let headers = [
        (SET_COOKIE, auth::cookie(&app, &secret, lifetime)),
        (CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok((headers, Redirect::to(own_address(fields.text("next")))).into_response())
}

pub(super) async fn end(State(app): State<App>, sent: Sent) -> Result<Response, Problem> {
    let _ = (app, sent);
    todo!()
}

/// An address of this service; the overview in place of one that leads elsewhere.
fn own_address(next: &str) -> &str {
    let is_path = next.starts_with('/') && !next.starts_with("//");
    let is_plain = next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    match is_path && is_plain {
        true => next,
        false => "/",
    }
}

//! The login page, where a token is exchanged for a session.

use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::response::{IntoResponse, Redirect, Response};
use maud::html;
use serde::Deserialize;

use super::elements::refusal_box;
use super::forms::{Fields, SentForm};
use super::layout::Frame;
use crate::extract::Query;
use crate::{App, Peer, Problem, sessions};

#[derive(Debug, Deserialize)]
pub(super) struct LoginQuery {
    #[serde(default)]
    next: String,
}

pub(super) async fn show_form(Query(asked): Query<LoginQuery>) -> Response {
    login_page(&asked.next, None).into_response()
}

fn login_page(next: &str, refused: Option<&Problem>) -> axum::response::Html<String> {
    let frame = Frame::new("Log in", None, "");
    frame.render_html(&html! {
        (refusal_box(refused))
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

/// Logs in. There is no session yet and so no form token; the middleware checks `Origin`.
pub(super) async fn log_in(
    State(app): State<App>,
    peer: Peer,
    fields: Fields,
) -> Result<Response, Problem> {
    let next = own_address(fields.text("next"));
    match sessions::begin_session(&app, peer, fields.text("token")).await {
        Ok(begun) => Ok(([(SET_COOKIE, begun.cookie)], Redirect::to(next)).into_response()),
        Err(problem) if problem.status.is_client_error() => {
            let mut answer = login_page(next, Some(&problem)).into_response();
            *answer.status_mut() = problem.status;
            problem.set_headers(&mut answer);
            Ok(answer)
        }
        Err(problem) => Err(problem),
    }
}

pub(super) async fn log_out(State(app): State<App>, sent: SentForm) -> Result<Response, Problem> {
    let cookie = sessions::log_out(&app, &sent.visitor).await?;
    Ok(([(SET_COOKIE, cookie)], Redirect::to("/")).into_response())
}

/// The address itself if it is one of this service, or else the overview's.
fn own_address(next: &str) -> &str {
    let is_path = next.starts_with('/') && !next.starts_with("//");
    let is_plain = next
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_path && is_plain { next } else { "/" }
}

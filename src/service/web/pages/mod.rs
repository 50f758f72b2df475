//! The pages. They are rendered on the server and work without scripts; the only script refreshes the parts marked
//! `data-live`. Every form carries its session's token, and a successful form answers 303.

mod assets;
mod audit;
mod campaigns;
mod channels;
mod diff;
mod elements;
mod forms;
mod layout;
mod login;
mod overview;
mod progress;
mod queue;
mod release;
mod submit;
mod table;
mod tables;
mod task;
mod tokens;

use axum::Router;
use axum::response::Html;
use axum::routing::{get, post};
use maud::html;

pub(crate) use self::campaigns::readable as readable_campaigns;
pub(crate) use self::diff::render_changes;
use self::layout::Frame;
use crate::{App, Problem};

/// The routes of the pages, and of the files that they load.
pub(crate) fn router() -> Router<App> {
    Router::new()
        .route("/", get(overview::show))
        .route("/login", get(login::show).post(login::begin))
        .route("/logout", post(login::end))
        .route("/queue", get(queue::show).post(queue::submit))
        .route("/tasks/{id}", get(task::show))
        .route("/tasks/{id}/cancel", post(task::cancel))
        .route("/campaigns", get(campaigns::list))
        .route("/campaigns/{*path}", get(campaigns::show))
        .route("/tables", get(tables::show))
        .route("/tables/{digest}", get(table::show))
        .route("/tables/{digest}/diff", get(diff::show))
        .route("/tables/{digest}/release", post(release::release))
        .route("/channels", get(channels::list))
        .route(
            "/channels/{machine}/{library}/{channel}",
            get(channels::show),
        )
        // The address that jobs and `pull` use for the channel.
        .route(
            "/machines/{machine}/libraries/{library}/channels/{channel}",
            get(channels::of_address),
        )
        .route(
            "/channels/{machine}/{library}/{channel}/rollback",
            post(channels::roll_back),
        )
        .route(
            "/channels/{machine}/{library}/{channel}/withdraw",
            post(channels::withdraw),
        )
        .route("/tokens", get(tokens::show).post(tokens::make))
        .route("/tokens/{id}/revoke", post(tokens::revoke))
        .route("/audit", get(audit::show))
        .merge(assets::router())
}

/// A page for a problem; the visitor is not known.
pub(crate) fn problem(problem: &Problem) -> Html<String> {
    let frame = Frame::new(problem.title, None, "");
    frame.html(&html! {
        div.refusal role="alert" { (elements::error(&problem.detail)) }
        @if !problem.gates.is_empty() { (elements::gates(&problem.gates)) }
        @if let (Some(line), Some(column)) = (problem.line, problem.column) { p { "In line " (line) ", column " (column) "." } }
        @if problem.lacks_scope { p { a href="/login" { "Log in" } " with a token that has the scope." } }
        p { "Status " (problem.status.as_u16()) ". " a href="/" { "To the overview" } }
    })
}

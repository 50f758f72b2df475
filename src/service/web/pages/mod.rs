//! The pages. They are rendered on the server and work without scripts; the only script refreshes the parts marked
//! `data-live`. Every form carries its session's token, and a successful form answers 303.

mod assets;
mod audit;
mod campaigns;
mod channels;
mod diff;
mod elements;
mod findings;
mod fleet;
mod forms;
mod layout;
mod levels;
mod login;
mod overview;
mod progress;
mod queue;
mod release;
mod schedules;
mod submit;
mod table;
mod tables;
mod task;
mod tokens;
mod trends;
mod usage;
mod webhooks;

use axum::Router;
use axum::response::Html;
use axum::routing::{get, post};
use maud::html;

pub(crate) use self::campaigns::readable_campaigns;
pub(crate) use self::diff::render_changes;
use self::layout::Frame;
use crate::{App, Problem};

/// The routes of the pages, and of the files that they load.
pub(crate) fn build_router() -> Router<App> {
    Router::new()
        .route("/", get(overview::show_overview))
        .route("/login", get(login::show_form).post(login::log_in))
        .route("/logout", post(login::log_out))
        .route("/queue", get(queue::show_tasks).post(queue::submit_task))
        .route("/tasks/{id}", get(task::show_task))
        .route("/tasks/{id}/cancel", post(task::cancel_task))
        .route("/campaigns", get(campaigns::list_campaigns))
        .route("/campaigns/{*path}", get(campaigns::show_campaign))
        .route("/tables", get(tables::list_tables))
        .route("/tables/{digest}", get(table::show_table))
        .route("/tables/{digest}/diff", get(diff::show_diff))
        .route("/tables/{digest}/release", post(release::release_table))
        .route("/channels", get(channels::list_channels))
        .route(
            "/channels/{machine}/{library}/{channel}",
            get(channels::show_channel),
        )
        // The address that jobs and `pull` use for the channel.
        .route(
            "/machines/{machine}/libraries/{library}/channels/{channel}",
            get(channels::redirect_to_page),
        )
        .route(
            "/channels/{machine}/{library}/{channel}/rollback",
            post(channels::roll_back),
        )
        .route(
            "/channels/{machine}/{library}/{channel}/withdraw",
            post(channels::withdraw_table),
        )
        .route("/trends", get(trends::list_series))
        .route("/trends/{id}", get(trends::show_trend))
        .route("/findings", get(findings::list_findings))
        .route(
            "/findings/{id}",
            get(findings::show_finding).post(findings::decide_finding),
        )
        .route("/schedules", get(schedules::list_schedules))
        .route("/schedules/{name}", get(schedules::show_schedule))
        .route("/schedules/{name}/pause", post(schedules::pause_schedule))
        .route("/schedules/{name}/resume", post(schedules::resume_schedule))
        .route("/fleet", get(fleet::show_fleet))
        .route("/usage", get(usage::show_usage))
        .route("/tokens", get(tokens::list_tokens).post(tokens::make_token))
        .route("/tokens/{id}/revoke", post(tokens::revoke_token))
        .route(
            "/webhooks",
            get(webhooks::list_webhooks).post(webhooks::make_webhook),
        )
        .route("/webhooks/{id}/test", post(webhooks::test_webhook))
        .route("/webhooks/{id}/remove", post(webhooks::remove_webhook))
        .route("/audit", get(audit::show_entries))
        .merge(assets::build_router())
}

/// A page for a problem; the visitor is not known.
pub(crate) fn problem_page(problem: &Problem) -> Html<String> {
    let frame = Frame::new(problem.title, None, "");
    frame.render_html(&html! {
        div.refusal role="alert" { (elements::error_text(&problem.detail)) }
        @if !problem.gates.is_empty() { (elements::gates_list(&problem.gates)) }
        @if let (Some(line), Some(column)) = (problem.line, problem.column) { p { "In line " (line) ", column " (column) "." } }
        @if problem.lacks_scope { p { a href="/login" { "Log in" } " with a token that has the scope." } }
        p { "Status " (problem.status.as_u16()) ". " a href="/" { "To the overview" } }
    })
}

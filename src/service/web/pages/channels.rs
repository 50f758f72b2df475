//! Channels: their current tables, their histories, and the forms to roll back and withdraw.

use std::collections::HashSet;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use jiff::Timestamp;
use maud::{Markup, html};
use service::{ChannelKey, Digest, GateState, Page, Release, ReleaseAction, Scope, Slice};

use super::elements::{ago, channel_address, gates, pager, refusal, table_link, when, wide};
use super::forms::{Before, Fields, Reader, Sent};
use super::layout::{EVENTS, Frame, form_token};
use super::release::{carry_out, channel_key, expected, reason};
use super::submit;
use crate::extract::{Path, Query};
use crate::{App, Problem, Visitor};

pub(super) async fn list(
    State(app): State<App>,
    Reader(visitor): Reader,
) -> Result<Response, Problem> {
    let mut channels = app.run_reading(service::Service::channels).await?;
    channels.retain(|release| visitor.may_read(Some(&release.key.machine)));
    channels.sort_by(|a, b| a.key.cmp(&b.key));
    let frame = Frame::new("Channels", Some(&visitor), "/channels").live(EVENTS);
    let content = html! {
        div #channels data-live {
            @if channels.is_empty() {
                p { "No table is released. Choose one under " a href="/tables" { "Tables" } ", and release it there." }
            } @else {
                (wide("Channels", &current(&channels)))
            }
        }
    };
    Ok(frame.html(&content).into_response())
}

fn current(channels: &[Release]) -> Markup {
    let now = Timestamp::now();
    html! {
        table {
            thead { tr { th scope="col" { "channel" } th scope="col" { "machine" } th scope="col" { "library" }
                th scope="col" { "table" } th scope="col" { "since" } th scope="col" { "by" } } }
            tbody {
                @for release in channels {
                    tr {
                        th scope="row" { a href=(channel_address(&release.key)) { (release.key.channel) } }
                        td { (release.key.machine) }
                        td { (release.key.library) }
                        td { (table_link(&release.digest)) @if release.action == ReleaseAction::Withdraw { " (withdrawn: empty)" } }
                        td { (ago(release.at, now)) }
                        td { (release.actor) }
                    }
                }
            }
        }
    }
}

/// The parts of a channel's address: machine, library, channel.
type Parts = Path<(String, String, String)>;

fn key(Path((machine, library, channel)): &Parts) -> Result<ChannelKey, Problem> {
    channel_key(machine, library, channel)
}

pub(super) async fn show(
    State(app): State<App>,
    Reader(visitor): Reader,
    parts: Parts,
    Query(Before { before }): Query<Before>,
) -> Result<Response, Problem> {
    page(
        &app,
        &visitor,
        key(&parts)?,
        before,
        &Fields::default(),
        None,
    )
    .await
}

/// Redirects from the address that jobs use for a channel to its page.
pub(super) async fn of_address(parts: Parts) -> Result<Redirect, Problem> {
    Ok(Redirect::temporary(&channel_address(&key(&parts)?)))
}

pub(super) async fn roll_back(
    State(app): State<App>,
    parts: Parts,
    sent: Sent,
) -> Result<Response, Problem> {
    let digest = sent.fields.given("digest").map(super::table::parsed);
    let digest = digest.transpose()?;
    change(&app, &sent, key(&parts)?, ReleaseAction::Rollback, digest).await
}

pub(super) async fn withdraw(
    State(app): State<App>,
    parts: Parts,
    sent: Sent,
) -> Result<Response, Problem> {
    change(&app, &sent, key(&parts)?, ReleaseAction::Withdraw, None).await
}

async fn change(
    app: &App,
    sent: &Sent,
    key: ChannelKey,
    action: ReleaseAction,
    digest: Option<Digest>,
) -> Result<Response, Problem> {
    match carry_out(app, sent, &key, action, digest).await {
        Ok(()) => Ok(Redirect::to(&channel_address(&key)).into_response()),
        Err(problem) if problem.status.is_server_error() => Err(problem),
        Err(problem) => page(app, &sent.visitor, key, None, &sent.fields, Some(&problem)).await,
    }
}

async fn page(
    app: &App,
    visitor: &Visitor,
    key: ChannelKey,
    before: Option<u64>,
    fields: &Fields,
    refused: Option<&Problem>,
) -> Result<Response, Problem> {
    visitor.require_read(Some(&key.machine))?;
    let (asked, slice) = (
        key.clone(),
        Slice {
            before,
            limit: None,
        },
    );
    let (newest, releases) = app
        .run_reading(move |service| {
            let mut newest = service.channels()?.into_iter();
            let newest = newest.find(|release| release.key == asked);
            Ok((newest, service.releases(&asked, slice)?))
        })
        .await?;
    let Some(newest) = newest else {
        let name = format!("{}/{}/{}", key.machine, key.library, key.channel);
        return Err(Problem::not_found("channel", name));
    };
    let title = format!("{} · {} · {}", key.channel, key.machine, key.library);
    let frame =
        Frame::new(&title, Some(visitor), "/channels").live(EVENTS.filter(|_| before.is_none()));
    let content = html! {
        (refusal(refused))
        @if let Some(problem) = refused { @if !problem.gates.is_empty() { (gates(&problem.gates)) } }
        div #history data-live { (history(&newest, &releases)) }
        (pager(&channel_address(&key), before, releases.next))
        @if let Some(obstacle) = submit::obstacle(visitor, Scope::Publish) { (obstacle) }
        @else { (forms(visitor, &newest, &releases, fields)) }
    };
    let status = refused.map_or(StatusCode::OK, |problem| problem.status);
    Ok((status, frame.html(&content)).into_response())
}

fn history(newest: &Release, releases: &Page<Release>) -> Markup {
    html! {
        p.headline {
            @if newest.action == ReleaseAction::Withdraw { "Jobs use an empty table, and so the library's default for every call, since " }
            @else { "Jobs use the table " (table_link(&newest.digest)) " since " }
            (when(newest.at)) " (release " (newest.sequence) ")."
        }
        h2 #history-head { "History" }
        (wide("History", &html! {
            table {
                thead { tr { th.number scope="col" { "release" } th scope="col" { "action" } th scope="col" { "table" }
                    th scope="col" { "when" } th scope="col" { "by" } th scope="col" { "reason" } th scope="col" { "gates" } } }
                tbody {
                    @for release in &releases.items {
                        tr {
                            th.number scope="row" { (release.sequence) }
                            td { (release.action) @if release.sequence == newest.sequence { " " strong { "(current)" } } }
                            td { (table_link(&release.digest)) }
                            td { (when(release.at)) }
                            td { (release.actor) }
                            td.words { (release.reason) }
                            td { (gates_in_short(release)) }
                        }
                    }
                }
            }
        }))
    }
}

/// The names of the overridden gates, or a note that there were none or that all gates were open.
fn gates_in_short(release: &Release) -> Markup {
    let overridden = release
        .gates
        .iter()
        .filter(|gate| gate.state != GateState::Open);
    let names: Vec<&str> = overridden.map(|gate| gate.name.as_str()).collect();
    html! {
        @if release.gates.is_empty() { "none" }
        @else if names.is_empty() { "all open" }
        @else { strong { "overridden: " (names.join(", ")) } }
    }
}

fn forms(visitor: &Visitor, newest: &Release, releases: &Page<Release>, fields: &Fields) -> Markup {
    let address = channel_address(&newest.key);
    let mut seen = HashSet::from([&newest.digest]);
    let withdrawn = |release: &&Release| release.action == ReleaseAction::Withdraw;
    let earlier: Vec<&Release> = releases
        .items
        .iter()
        .filter(|release| !withdrawn(release) && seen.insert(&release.digest))
        .collect();
    html! {
        section aria-labelledby="back-head" {
            h2 #back-head { "Roll back" }
            @if earlier.is_empty() {
                p { "This page of the history has no other table to roll back to." }
            } @else {
                form.stack method="post" action=(format!("{address}/rollback")) {
                    (form_token(visitor))
                    (expected(Some(newest)))
                    label for="digest" { "To the table" }
                    select #digest name="digest" {
                        @for release in earlier {
                            option value=(release.digest) selected[release.digest.as_str() == fields.text("digest")] {
                                (release.digest.short()) ", released " (release.at.strftime("%Y-%m-%d %H:%M").to_string())
                                " (release " (release.sequence) ")"
                            }
                        }
                    }
                    (reason("rollback-reason", true, fields))
                    button { "Roll back" }
                }
            }
        }
        @if newest.action != ReleaseAction::Withdraw {
            section aria-labelledby="withdraw-head" {
                h2 #withdraw-head { "Withdraw" }
                p { "An empty table takes its place: every call uses the library's default." }
                form.stack method="post" action=(format!("{address}/withdraw")) {
                    (form_token(visitor))
                    (expected(Some(newest)))
                    (reason("withdraw-reason", true, fields))
                    button { "Withdraw" }
                }
            }
        }
    }
}

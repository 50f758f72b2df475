//! Channels: their current tables, their histories, and the forms to roll back and withdraw.

use std::collections::HashSet;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use jiff::Timestamp;
use maud::{Markup, html};
use service::{ChannelKey, Digest, GateState, Page, Release, ReleaseAction, Scope, Slice};

use super::elements::{
    age_element, channel_address, gates_list, pager_links, refusal_box, scroll_box, table_link,
    time_element,
};
use super::forms::{Before, Fields, Reader, SentForm};
use super::layout::{EVENTS, Frame, form_token};
use super::release::{carry_out_release, expected_field, parse_channel_key, reason_field};
use super::submit;
use crate::extract::{Path, Query};
use crate::{App, Problem, Visitor};

pub(super) async fn list_channels(
    State(app): State<App>,
    Reader(visitor): Reader,
) -> Result<Response, Problem> {
    let mut channels = app.run_reading(service::Service::newest_releases).await?;
    channels.retain(|release| visitor.may_read(Some(&release.key.machine)));
    channels.sort_by(|a, b| a.key.cmp(&b.key));
    let frame = Frame::new("Channels", Some(&visitor), "/channels").with_live_events(EVENTS);
    let content = html! {
        div #channels data-live {
            @if channels.is_empty() {
                p { "No table is released. Choose one under " a href="/tables" { "Tables" } ", and release it there." }
            } @else {
                (scroll_box("Channels", &channels_table(&channels)))
            }
        }
    };
    Ok(frame.render_html(&content).into_response())
}

fn channels_table(channels: &[Release]) -> Markup {
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
                        td { (age_element(release.at, now)) }
                        td { (release.actor) }
                    }
                }
            }
        }
    }
}

/// The parts of a channel's address: machine, library, channel.
type ChannelParts = Path<(String, String, String)>;

fn key_from_parts(Path((machine, library, channel)): &ChannelParts) -> Result<ChannelKey, Problem> {
    parse_channel_key(machine, library, channel)
}

pub(super) async fn show_channel(
    State(app): State<App>,
    Reader(visitor): Reader,
    parts: ChannelParts,
    Query(Before { before }): Query<Before>,
) -> Result<Response, Problem> {
    channel_page(
        &app,
        &visitor,
        key_from_parts(&parts)?,
        before,
        &Fields::default(),
        None,
    )
    .await
}

/// Redirects from the address that jobs use for a channel to its page.
pub(super) async fn redirect_to_page(parts: ChannelParts) -> Result<Redirect, Problem> {
    Ok(Redirect::temporary(&channel_address(&key_from_parts(
        &parts,
    )?)))
}

pub(super) async fn roll_back(
    State(app): State<App>,
    parts: ChannelParts,
    sent: SentForm,
) -> Result<Response, Problem> {
    let digest = sent
        .fields
        .nonempty_text("digest")
        .map(super::table::parse_digest);
    let digest = digest.transpose()?;
    change_channel(
        &app,
        &sent,
        key_from_parts(&parts)?,
        ReleaseAction::Rollback,
        digest,
    )
    .await
}

pub(super) async fn withdraw_table(
    State(app): State<App>,
    parts: ChannelParts,
    sent: SentForm,
) -> Result<Response, Problem> {
    change_channel(
        &app,
        &sent,
        key_from_parts(&parts)?,
        ReleaseAction::Withdraw,
        None,
    )
    .await
}

async fn change_channel(
    app: &App,
    sent: &SentForm,
    key: ChannelKey,
    action: ReleaseAction,
    digest: Option<Digest>,
) -> Result<Response, Problem> {
    match carry_out_release(app, sent, &key, action, digest).await {
        Ok(()) => Ok(Redirect::to(&channel_address(&key)).into_response()),
        Err(problem) if problem.status.is_server_error() => Err(problem),
        Err(problem) => {
            channel_page(app, &sent.visitor, key, None, &sent.fields, Some(&problem)).await
        }
    }
}

async fn channel_page(
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
            let mut newest = service.newest_releases()?.into_iter();
            let newest = newest.find(|release| release.key == asked);
            Ok((newest, service.list_releases(&asked, slice)?))
        })
        .await?;
    let Some(newest) = newest else {
        let name = format!("{}/{}/{}", key.machine, key.library, key.channel);
        return Err(Problem::not_found("channel", name));
    };
    let title = format!("{} · {} · {}", key.channel, key.machine, key.library);
    let frame = Frame::new(&title, Some(visitor), "/channels")
        .with_live_events(EVENTS.filter(|_| before.is_none()));
    let content = html! {
        (refusal_box(refused))
        @if let Some(problem) = refused { @if !problem.gates.is_empty() { (gates_list(&problem.gates)) } }
        div #history data-live { (history_section(&newest, &releases)) }
        (pager_links(&channel_address(&key), before, releases.next))
        @if let Some(obstacle) = submit::missing_scope_note(visitor, Scope::Publish) { (obstacle) }
        @else { (change_forms(visitor, &newest, &releases, fields)) }
    };
    let status = refused.map_or(StatusCode::OK, |problem| problem.status);
    Ok((status, frame.render_html(&content)).into_response())
}

fn history_section(newest: &Release, releases: &Page<Release>) -> Markup {
    html! {
        p.headline {
            @if newest.action == ReleaseAction::Withdraw { "Jobs use an empty table, and so the library's default for every call, since " }
            @else { "Jobs use the table " (table_link(&newest.digest)) " since " }
            (time_element(newest.at)) " (release " (newest.sequence) ")."
        }
        h2 #history-head { "History" }
        (scroll_box("History", &html! {
            table {
                thead { tr { th.number scope="col" { "release" } th scope="col" { "action" } th scope="col" { "table" }
                    th scope="col" { "when" } th scope="col" { "by" } th scope="col" { "reason" } th scope="col" { "gates" } } }
                tbody {
                    @for release in &releases.items {
                        tr {
                            th.number scope="row" { (release.sequence) }
                            td { (release.action) @if release.sequence == newest.sequence { " " strong { "(current)" } } }
                            td { (table_link(&release.digest)) }
                            td { (time_element(release.at)) }
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

fn change_forms(
    visitor: &Visitor,
    newest: &Release,
    releases: &Page<Release>,
    fields: &Fields,
) -> Markup {
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
                    (expected_field(Some(newest)))
                    label for="digest" { "To the table" }
                    select #digest name="digest" {
                        @for release in earlier {
                            option value=(release.digest) selected[release.digest.as_str() == fields.text("digest")] {
                                (release.digest.short()) ", released " (release.at.strftime("%Y-%m-%d %H:%M").to_string())
                                " (release " (release.sequence) ")"
                            }
                        }
                    }
                    (reason_field("rollback-reason", true, fields))
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
                    (expected_field(Some(newest)))
                    (reason_field("withdraw-reason", true, fields))
                    button { "Withdraw" }
                }
            }
        }
    }
}

//! The form that releases a table to a channel.

use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use service::{
    ChannelKey, Digest, Gate, Release, ReleaseAction, ReleaseChannel, ReleaseRequest, Scope,
    Service, ServiceError, Version,
};

use super::elements::{channel_address, gates_list, table_address, table_link, time_element};
use super::forms::{Fields, SentForm};
use super::layout::{form_token, with_query};
use super::{submit, table};
use crate::extract::Path;
use crate::{App, Problem, Visitor};

/// The release channels, in the order in which a table moves through them.
const CHANNELS: [ReleaseChannel; 3] = [
    ReleaseChannel::Candidate,
    ReleaseChannel::Canary,
    ReleaseChannel::Production,
];

/// The channel of a form, with its current state.
#[derive(Debug)]
pub(super) struct ReleaseTarget {
    pub(super) key: ChannelKey,
    /// The table that this one replaced on the machine.
    pub(super) parent: Option<Digest>,
    current: Option<Release>,
    gates: Vec<Gate>,
}

impl ReleaseTarget {
    pub(super) fn read_current(
        service: &Service,
        digest: &Digest,
        version: Version,
        channel: &str,
    ) -> Result<Self, ServiceError> {
        let key = ChannelKey {
            machine: version.machine,
            library: version.library,
            channel: channel.parse().unwrap_or(ReleaseChannel::Candidate),
        };
        let current = service.newest_releases()?.into_iter();
        Ok(Self {
            current: current.into_iter().find(|release| release.key == key),
            gates: service.evaluate_gates(&key, digest)?,
            parent: version.parent,
            key,
        })
    }
}

/// The section of a table's page about its release.
pub(super) fn render_section(
    visitor: &Visitor,
    digest: &Digest,
    place: &ReleaseTarget,
    versions: &[Version],
    fields: &Fields,
) -> Markup {
    let address = |machine: &str, channel: ReleaseChannel| {
        let asked = [("machine", machine), ("channel", &channel.to_string())];
        format!("{}#release", with_query(&table_address(digest), &asked))
    };
    html! {
        section #release aria-labelledby="release-head" {
            h2 #release-head { "Release" }
            nav.choices aria-label="Channel" {
                ul {
                    @for version in versions {
                        @for channel in CHANNELS {
                            @let is_it = version.machine == place.key.machine && channel == place.key.channel;
                            li { a href=(address(&version.machine, channel)) aria-current=[is_it.then_some("true")] {
                                @if versions.len() > 1 { (version.machine) ": " } (channel)
                            } }
                        }
                    }
                }
            }
            p {
                a href=(channel_address(&place.key)) { (place.key.machine) " · " (place.key.library) " · " (place.key.channel) } " "
                @match &place.current {
                    Some(current) if current.digest == *digest => { "has this table since " (time_element(current.at)) " (release " (current.sequence) ")." }
                    Some(current) => {
                        "has the table " (table_link(&current.digest)) " since " (time_element(current.at)) " (release " (current.sequence) "). "
                        a href=(with_query(&format!("{}/diff", table_address(digest)), &[("to", current.digest.as_str())])) { "What would change" }
                    }
                    None => "has no release yet.",
                }
            }
            h3 { "Gates" }
            (gates_list(&place.gates))
            @if let Some(obstacle) = submit::missing_scope_note(visitor, Scope::Publish) { (obstacle) }
            @else { (release_form(visitor, digest, place, fields)) }
        }
    }
}

fn release_form(
    visitor: &Visitor,
    digest: &Digest,
    place: &ReleaseTarget,
    fields: &Fields,
) -> Markup {
    let ChannelKey {
        machine,
        library,
        channel,
    } = &place.key;
    let closed = place.gates.iter().filter(|gate| !gate.is_open()).count();
    let is_admin = visitor.actor.has_scope(Scope::Admin, Some(machine));
    html! {
        @if closed > 0 && !is_admin {
            p { (closed) " of the gates are closed. Meet them first, or let an administrator override them." }
        } @else {
            form.stack method="post" action=(format!("{}/release", table_address(digest))) {
                (form_token(visitor))
                input type="hidden" name="machine" value=(machine);
                input type="hidden" name="library" value=(library);
                input type="hidden" name="channel" value=(channel);
                (expected_field(place.current.as_ref()))
                @if closed > 0 {
                    label.check {
                        input type="checkbox" name="override" value="yes" checked[fields.nonempty_text("override").is_some()];
                        " Override " (closed) " closed " @if closed == 1 { "gate" } @else { "gates" } "; this needs a reason"
                    }
                }
                (reason_field("release-reason", closed > 0, fields))
                button { "Release to " (channel) }
            }
        }
    }
}

/// A hidden field with the number of the release that the page shows; if the channel has changed, the form is refused.
pub(super) fn expected_field(current: Option<&Release>) -> Markup {
    let sequence = current.map_or(0, |release| release.sequence);
    html! { input type="hidden" name="expected" value=(sequence); }
}

pub(super) fn reason_field(id: &str, is_needed: bool, fields: &Fields) -> Markup {
    html! {
        label for=(id) { "Reason" @if !is_needed { " (optional)" } }
        textarea id=(id) name="reason" rows="2" maxlength="1000" required[is_needed] { (fields.text("reason")) }
    }
}

pub(super) async fn release_table(
    State(app): State<App>,
    Path(digest): Path<String>,
    sent: SentForm,
) -> Result<Response, Problem> {
    let digest = table::parse_digest(&digest)?;
    let key = key_from_fields(&sent.fields)?;
    match carry_out_release(
        &app,
        &sent,
        &key,
        ReleaseAction::Release,
        Some(digest.clone()),
    )
    .await
    {
        Ok(()) => Ok(Redirect::to(&channel_address(&key)).into_response()),
        Err(problem) if problem.status.is_server_error() => Err(problem),
        Err(problem) => {
            let asked = table::TableQuery {
                machine: key.machine,
                channel: key.channel.to_string(),
            };
            table::table_page(
                &app,
                &sent.visitor,
                digest,
                asked,
                &sent.fields,
                Some(&problem),
            )
            .await
        }
    }
}

fn key_from_fields(fields: &Fields) -> Result<ChannelKey, Problem> {
    parse_channel_key(
        fields.text("machine"),
        fields.text("library"),
        fields.text("channel"),
    )
}

/// Parses the key of a channel.
pub(super) fn parse_channel_key(
    machine: &str,
    library: &str,
    channel: &str,
) -> Result<ChannelKey, Problem> {
    let unknown = |_| Problem::not_found("channel", channel);
    Ok(ChannelKey {
        machine: machine.to_owned(),
        library: library.to_owned(),
        channel: channel.parse().map_err(unknown)?,
    })
}

/// Releases, rolls back or withdraws, unless the channel has changed since the page was rendered.
pub(super) async fn carry_out_release(
    app: &App,
    sent: &SentForm,
    key: &ChannelKey,
    action: ReleaseAction,
    digest: Option<Digest>,
) -> Result<(), Problem> {
    let request = ReleaseRequest {
        digest,
        action,
        reason: sent.fields.text("reason").to_owned(),
        override_gates: sent.fields.nonempty_text("override").is_some(),
    };
    let expected = sent.fields.parse_number("expected")?;
    let (actor, key) = (sent.visitor.actor.clone(), key.clone());
    app.make_release(actor, key, request, expected).await?;
    Ok(())
}

//! Channels and releases.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use service::{ChannelKey, Digest, Gate, Manifest, Page, Release, ReleaseRequest, Slice};
use utoipa::IntoParams;

use crate::conditions::{ExpectedRelease, channel_etag, not_modified_response, set_cache_headers};
use crate::extract::{self, Path, Query};
use crate::json::Json;
use crate::state::Encoded;
use crate::{App, Problem, Visitor};

/// `Cache-Control` of a manifest: clients revalidate it on each use, and get 304 if it has not changed.
const ASK_AGAIN: &str = "no-cache";

/// All channels that have releases, each with its newest one.
#[utoipa::path(
    get, path = "/api/v1/channels", tag = "releases",
    responses(
        (status = 200, body = Vec<Release>),
        (status = 401, body = Problem), (status = 403, body = Problem),
    )
)]
pub(crate) async fn list_channels(
    State(app): State<App>,
    visitor: Visitor,
) -> Result<Json<Vec<Release>>, Problem> {
    visitor.require_read_anything()?;
    let mut channels = app.run_reading(service::Service::newest_releases).await?;
    channels.retain(|release| visitor.may_read(Some(&release.key.machine)));
    Ok(Json(channels))
}

/// The client that requests a manifest.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Pull {
    /// The client's name, such as its host name: 1 to 253 letters, digits, `.`, `-` and `_`. If it is given, the pull
    /// is recorded.
    client: Option<String>,
}

impl Pull {
    fn checked_client(self) -> Result<Option<String>, Problem> {
        let is_plain = |letter: u8| letter.is_ascii_alphanumeric() || b".-_".contains(&letter);
        match self.client {
            Some(name) if !(1..=253).contains(&name.len()) || !name.bytes().all(is_plain) => {
                let detail = "`client` must have 1 to 253 letters, digits, `.`, `-` and `_`";
                Err(Problem::new(StatusCode::BAD_REQUEST, detail))
            }
            client => Ok(client),
        }
    }
}

/// The current table of a channel, and the tables that running jobs may still use.
///
/// The answer comes from memory. Its ETag identifies this release with this table; changes of the channel name it in
/// `If-Match`.
#[utoipa::path(
    get, path = "/api/v1/machines/{machine}/libraries/{library}/channels/{channel}", tag = "releases",
    params(ChannelKey, Pull, ("If-None-Match" = Option<String>, Header)),
    responses(
        (status = 200, body = Manifest),
        (status = 304, description = "The release is still the one in `If-None-Match`"),
        (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, description = "No such channel, or it has no releases", body = Problem),
    )
)]
pub(crate) async fn get_manifest(
    State(app): State<App>,
    visitor: Visitor,
    Path(key): Path<ChannelKey>,
    Query(pull): Query<Pull>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    visitor.require_read(Some(&key.machine))?;
    let client = pull.checked_client()?;
    let manifest = app.service.channel_manifest(&key)?;
    if let Some(client) = client {
        app.shared
            .pulls
            .note_pull(client, key, manifest.digest.clone());
    }
    let tag = channel_etag(manifest.sequence, &manifest.digest);
    Ok(
        not_modified_response(&headers, &tag, ASK_AGAIN).unwrap_or_else(|| {
            let mut response = Json(manifest).into_response();
            set_cache_headers(&mut response, &tag, ASK_AGAIN);
            response
        }),
    )
}

/// The releases of a channel, newest first.
#[utoipa::path(
    get, path = "/api/v1/machines/{machine}/libraries/{library}/channels/{channel}/releases", tag = "releases",
    params(ChannelKey, Slice),
    responses(
        (status = 200, body = Page<Release>),
        (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem),
    )
)]
pub(crate) async fn list_releases(
    State(app): State<App>,
    visitor: Visitor,
    Path(key): Path<ChannelKey>,
    Query(slice): Query<Slice>,
) -> Result<Encoded, Problem> {
    visitor.require_read(Some(&key.machine))?;
    app.read_as_json(move |service| service.list_releases(&key, slice))
        .await
}

/// Releases a table, rolls back or withdraws.
#[utoipa::path(
    post, path = "/api/v1/machines/{machine}/libraries/{library}/channels/{channel}/releases", tag = "releases",
    params(
        ChannelKey,
        ("If-Match" = Option<String>, Header, description = "The channel's ETag, which is `\"SEQUENCE-DIGEST\"`; or only the number of its release, as in `\"12\"`; or `*` for any release"),
        ("If-None-Match" = Option<String>, Header, description = "`*` for a channel without releases"),
    ),
    request_body = ReleaseRequest,
    responses(
        (status = 201, body = Release),
        (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem),
        (status = 409, description = "Gates are closed (listed in `gates`), or there is nothing to roll back to", body = Problem),
        (status = 412, description = "The channel is at another release", body = Problem),
        (status = 413, body = Problem), (status = 415, body = Problem), (status = 422, body = Problem),
        (status = 428, description = "Neither `If-Match` nor `If-None-Match`", body = Problem),
        (status = 507, description = "The disk is full", body = Problem),
    )
)]
pub(crate) async fn make_release(
    State(app): State<App>,
    visitor: Visitor,
    Path(key): Path<ChannelKey>,
    headers: HeaderMap,
    extract::Json(request): extract::Json<ReleaseRequest>,
) -> Result<impl IntoResponse, Problem> {
    // Conditions count only where the request would otherwise be carried out, and tell nothing to others.
    app.service.require_channel(&visitor.actor, &key)?;
    let expected = ExpectedRelease::from_headers(&headers)?;
    let expected = expected.expected_sequence(app.service.channel_manifest(&key).ok().as_ref())?;
    let release = app
        .make_release(visitor.actor, key, request, expected)
        .await?;
    let tag = channel_etag(release.sequence, &release.digest);
    Ok((StatusCode::CREATED, [(header::ETAG, tag)], Json(release)))
}

/// A channel and a table.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct Candidate {
    /// The machine.
    machine: String,
    /// `NAME-VERSION` of the MPI library.
    library: String,
    /// The channel.
    channel: service::ReleaseChannel,
    /// The table.
    #[param(value_type = String)]
    digest: Digest,
}

/// The gates of a release of a table to a channel, evaluated now.
#[utoipa::path(
    get, path = "/api/v1/machines/{machine}/libraries/{library}/channels/{channel}/gates/{digest}", tag = "releases",
    params(Candidate),
    responses(
        (status = 200, body = Vec<Gate>),
        (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem),
    )
)]
pub(crate) async fn evaluate_gates(
    State(app): State<App>,
    visitor: Visitor,
    Path(of): Path<Candidate>,
) -> Result<Json<Vec<Gate>>, Problem> {
    visitor.require_read(Some(&of.machine))?;
    let key = ChannelKey {
        machine: of.machine,
        library: of.library,
        channel: of.channel,
    };
    let gates = app.run_heavy(move |service| service.evaluate_gates(&key, &of.digest));
    gates.await.map(Json)
}

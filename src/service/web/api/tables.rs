//! Tables by digest.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use export::Options;
use printable::Plain;
use serde::Serialize;
use service::{Digest, Page, Service, ServiceError, Slice, Validation, Version};
use table::Table;
use utoipa::ToSchema;

use crate::conditions::{format_etag, not_modified_response, set_cache_headers};
use crate::extract::{Path, Query, Text};
use crate::facts::Facts;
use crate::json::Json;
use crate::results::TableOutput;
use crate::state::Encoded;
use crate::{App, Problem, Visitor};

/// `Cache-Control` of a table: the content of a digest never changes.
const FOR_EVER: &str = "private, max-age=31536000, immutable";

/// Requires that the visitor may read about one of the machines that have a table.
async fn require_read_table(app: &App, visitor: &Visitor, digest: &Digest) -> Result<(), Problem> {
    visitor.require_read_anything()?;
    if visitor.may_read(None) {
        return Ok(());
    }
    let (reader, digest) = (visitor.clone(), digest.clone());
    app.run_urgent(move |service| reader.find_versions(service, &digest))
        .await
        .map(drop)
}

/// The text of a table, as it was written.
#[utoipa::path(
    get, path = "/api/v1/blobs/{digest}", tag = "tables",
    params(("digest" = Digest, Path), ("If-None-Match" = Option<String>, Header)),
    responses(
        (status = 200, body = serde_json::Value, content_type = "application/yaml"),
        (status = 304, description = "Not modified"),
        (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem),
    )
)]
pub(crate) async fn get_table_text(
    State(app): State<App>,
    visitor: Visitor,
    Path(digest): Path<Digest>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    require_read_table(&app, &visitor, &digest).await?;
    let tag = format_etag(&digest);
    let bytes = app
        .run_urgent(move |service| service.read_blob(&digest))
        .await?;
    // No condition holds for a table that does not exist.
    if let Some(response) = not_modified_response(&headers, &tag, FOR_EVER) {
        return Ok(response);
    }
    let media = [(header::CONTENT_TYPE, "application/yaml; charset=utf-8")];
    let mut response = (media, bytes).into_response();
    set_cache_headers(&mut response, &tag, FOR_EVER);
    Ok(response)
}

/// The tables of a machine, newest first.
#[utoipa::path(
    get, path = "/api/v1/machines/{machine}/tables", tag = "tables", params(("machine" = String, Path), Slice),
    responses(
        (status = 200, body = Page<Version>),
        (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem),
    )
)]
pub(crate) async fn list_tables(
    State(app): State<App>,
    visitor: Visitor,
    Path(machine): Path<String>,
    Query(slice): Query<Slice>,
) -> Result<Encoded, Problem> {
    visitor.require_read(Some(&machine))?;
    let versions = app.read_as_json(move |service| {
        service.configuration().find_machine(&machine)?;
        service.list_versions(Some(&machine), None, slice)
    });
    versions.await
}

/// Adds a table that was made elsewhere. Needs the scope `publish`, or `agent` for a machine with an agent.
#[utoipa::path(
    post, path = "/api/v1/machines/{machine}/tables", tag = "tables", params(("machine" = String, Path)),
    request_body(content = serde_json::Value, content_type = "application/yaml"),
    responses(
        (status = 201, description = "`Location` has its address", body = Version),
        (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem), (status = 413, body = Problem),
        (status = 422, description = "Not a table; `line` and `column` give the place", body = Problem),
        (status = 507, description = "The disk is full", body = Problem),
    )
)]
pub(crate) async fn add_table(
    State(app): State<App>,
    visitor: Visitor,
    Path(machine): Path<String>,
    Text(text): Text,
) -> Result<impl IntoResponse, Problem> {
    let taken = app.run_heavy(move |service| service.add_table(&visitor.actor, &machine, &text));
    let version = taken.await?;
    let location = format!("/api/v1/tables/{}", version.digest);
    Ok((
        StatusCode::CREATED,
        [(header::LOCATION, location)],
        Json(version),
    ))
}

/// A table.
#[derive(Serialize, ToSchema)]
pub(crate) struct TableView {
    /// The digest of its text.
    digest: Digest,
    /// Its name.
    name: String,
    /// `NAME-VERSION` of the MPI library that it is for.
    library: String,
    /// The CPU that was measured; empty if unknown.
    cpu: String,
    /// The day of the last measurement.
    date: String,
    /// The number of launches it is based on.
    launches: u32,
    /// What the bits of its reductions must not depend on, by its campaign; `none` without a requirement.
    numerics: String,
    /// Reasons to trust the measurements less.
    warnings: Vec<String>,
    /// The number of its rules.
    rules: usize,
    /// The machines that have it, with its origin on each.
    versions: Vec<Version>,
    /// Its validations, by machine, newest first.
    validations: BTreeMap<String, Vec<Validation>>,
}

/// What the service knows about a table beside its text.
struct TableUses {
    /// On the machines that have it.
    versions: Vec<Version>,
    /// By machine.
    validations: BTreeMap<String, Vec<Validation>>,
}

fn read_uses(service: &Service, digest: &Digest) -> Result<TableUses, ServiceError> {
    let versions = service.versions_with_digest(digest)?;
    let mut validations = BTreeMap::new();
    for Version { machine, .. } in &versions {
        let of_machine = service.list_validations(machine, digest)?;
        validations.insert(machine.clone(), of_machine);
    }
    Ok(TableUses {
        versions,
        validations,
    })
}

/// Describes a table.
#[utoipa::path(
    get, path = "/api/v1/tables/{digest}", tag = "tables", params(("digest" = Digest, Path)),
    responses(
        (status = 200, body = TableView),
        (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem),
    )
)]
pub(crate) async fn describe_table(
    State(app): State<App>,
    visitor: Visitor,
    Path(digest): Path<Digest>,
) -> Result<Json<TableView>, Problem> {
    require_read_table(&app, &visitor, &digest).await?;
    let facts = Facts::recall_or_read(&app, &digest).await?;
    let asked = digest.clone();
    let found = app.run_reading(move |service| read_uses(service, &asked));
    let TableUses {
        mut versions,
        mut validations,
    } = found.await?;
    versions.retain(|version| visitor.may_read(Some(&version.machine)));
    validations.retain(|machine, _| visitor.may_read(Some(machine)));
    Ok(Json(TableView {
        digest,
        name: facts.name,
        library: facts.library,
        cpu: facts.cpu,
        date: facts.date,
        launches: facts.launches,
        numerics: facts.numerics,
        warnings: facts.warnings,
        rules: facts.rules,
        versions,
        validations,
    }))
}

/// The changes from one table to another.
#[derive(Serialize, ToSchema)]
pub(crate) struct Difference {
    /// The earlier table.
    before: Digest,
    /// The later one.
    after: Digest,
    /// `changes`, `only_in_one` and `defaults`, as `colltune diff --json` prints them.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    diff: table::Diff,
}

/// The changes from another table to this one.
#[utoipa::path(
    get, path = "/api/v1/tables/{digest}/diff/{other}", tag = "tables",
    params(("digest" = Digest, Path, description = "The later table"), ("other" = Digest, Path, description = "The earlier table")),
    responses(
        (status = 200, body = Difference),
        (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem),
    )
)]
pub(crate) async fn diff_tables(
    State(app): State<App>,
    visitor: Visitor,
    Path((after, before)): Path<(Digest, Digest)>,
) -> Result<Encoded, Problem> {
    require_read_table(&app, &visitor, &after).await?;
    require_read_table(&app, &visitor, &before).await?;
    app.make_or_recall(TableOutput::Difference { before, after })
        .await
        .map(Encoded)
}

/// The changes in JSON.
pub(crate) fn write_difference(
    before: &Digest,
    after: &Digest,
    diff: table::Diff,
) -> Result<String, Problem> {
    let difference = Difference {
        before: before.clone(),
        after: after.clone(),
        diff,
    };
    let text = serde_json::to_string(&difference).map_err(|error| Problem::internal(&error))?;
    Ok(Plain(text).to_string())
}

/// A self-contained page about the table.
#[utoipa::path(
    get, path = "/api/v1/tables/{digest}/report", tag = "tables", params(("digest" = Digest, Path)),
    responses(
        (status = 200, body = String, content_type = "text/html"),
        (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem),
    )
)]
pub(crate) async fn get_report(
    State(app): State<App>,
    visitor: Visitor,
    Path(digest): Path<Digest>,
) -> Result<impl IntoResponse, Problem> {
    require_read_table(&app, &visitor, &digest).await?;
    let page = app.make_or_recall(TableOutput::Report(digest));
    // The page has inline styles and no scripts.
    let policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
                  form-action 'none'; frame-ancestors 'none'; sandbox";
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, policy),
    ];
    Ok((headers, page.await?))
}

/// The table in the format of an MPI library or a program, as `colltune export` writes it.
#[utoipa::path(
    get, path = "/api/v1/tables/{digest}/export/{format}", tag = "tables",
    params(("digest" = Digest, Path), ("format" = String, Path, description = "`openmpi`, `openmpi-json`, `openmpi-han`, `openmpi-parameters`, `mpich`, `intelmpi`, `c-header`")),
    responses(
        (status = 200, body = String, content_type = "text/plain"),
        (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem),
        (status = 409, description = "The table cannot be written in this format", body = Problem),
    )
)]
pub(crate) async fn export_table(
    State(app): State<App>,
    visitor: Visitor,
    Path((digest, format)): Path<(Digest, String)>,
) -> Result<impl IntoResponse, Problem> {
    require_read_table(&app, &visitor, &digest).await?;
    let Some(found) = export::find_format(&format) else {
        return Err(Problem::not_found("format", format));
    };
    let name = format!("{}.{}", digest.short(), found.suffix());
    let format_name = found.name();
    let text = app.make_or_recall(TableOutput::Export {
        digest,
        format: format_name,
    });
    let headers: [(HeaderName, String); 2] = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8".to_owned()),
        (
            header::CONTENT_DISPOSITION,
            format!("attachment; filename=\"{name}\""),
        ),
    ];
    Ok((headers, text.await?))
}

/// The table in a format; 404 if there is no such format.
pub(crate) fn write_export(table: &Table, format: &'static str) -> Result<String, Problem> {
    let Some(found) = export::find_format(format) else {
        return Err(Problem::not_found("format", format));
    };
    let version = &table.provenance.library.version;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let options = Options::with_installed(Some(found), version, &path);
    let rendered = found.render(table, &options);
    let written = rendered.map_err(export::deploy::DeployError::from);
    Ok(written.map_err(ServiceError::from)?.text)
}

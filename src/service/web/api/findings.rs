//! Trends, and findings about them.

use axum::extract::State;
use serde::Deserialize;
use service::{
    FindingFilter, FindingState, ListedFinding, Page, Slice, Trend, TrendFinding, TrendLevel,
    TrendSeries, Triage,
};
use utoipa::IntoParams;

use crate::extract::{self, Path, Query};
use crate::json::Json;
use crate::state::Encoded;
use crate::{App, Problem, Visitor};

/// The selection of findings.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FindingsQuery {
    /// Only those in this state.
    state: Option<FindingState>,
    /// Only those of this machine.
    machine: Option<String>,
    /// Only findings with smaller numbers than this one: `next` of the page before.
    before: Option<u64>,
    /// The most findings: 1 to 200, 50 by default.
    limit: Option<u32>,
}

/// Findings, newest first.
///
/// A finding has the changes of the trends of a machine that have one cause; in the list, their number. Needs the scope
/// `read`.
#[utoipa::path(
    get, path = "/api/v1/findings", tag = "trends", params(FindingsQuery),
    responses(
        (status = 200, body = Page<ListedFinding>),
        (status = 400, description = "Unknown query", body = Problem),
        (status = 401, body = Problem), (status = 403, body = Problem),
    )
)]
pub(crate) async fn list_findings(
    State(app): State<App>,
    visitor: Visitor,
    Query(asked): Query<FindingsQuery>,
) -> Result<Encoded, Problem> {
    visitor.require_read_anything()?;
    let slice = Slice {
        before: asked.before,
        limit: asked.limit,
    };
    let filter = FindingFilter {
        state: asked.state,
        machine: asked.machine,
        machines: visitor.readable_machines(),
    };
    app.read_as_json(move |service| service.list_findings(&filter, slice))
        .await
}

/// The finding with this number, if the visitor may see it.
pub(crate) async fn find_visible_finding(
    app: &App,
    visitor: &Visitor,
    id: u64,
) -> Result<TrendFinding, Problem> {
    visitor.require_read_anything()?;
    let finding = app
        .run_reading(move |service| service.read_finding(id))
        .await?;
    if visitor.may_read(Some(&finding.machine)) {
        Ok(finding)
    } else {
        Err(Problem::not_found("finding", id.to_string()))
    }
}

/// A finding.
#[utoipa::path(
    get, path = "/api/v1/findings/{id}", tag = "trends", params(("id" = u64, Path)),
    responses(
        (status = 200, body = TrendFinding),
        (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem),
    )
)]
pub(crate) async fn get_finding(
    State(app): State<App>,
    visitor: Visitor,
    Path(id): Path<u64>,
) -> Result<Json<TrendFinding>, Problem> {
    Ok(Json(find_visible_finding(&app, &visitor, id).await?))
}

/// Decides about a finding, with a reason. Needs the scope `publish` for its machine.
#[utoipa::path(
    patch, path = "/api/v1/findings/{id}", tag = "trends", params(("id" = u64, Path)),
    request_body = Triage,
    responses(
        (status = 200, description = "The finding with the decision", body = TrendFinding),
        (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem),
        (status = 409, description = "The finding has this state already", body = Problem),
        (status = 413, body = Problem), (status = 415, body = Problem), (status = 422, body = Problem),
        (status = 507, description = "The disk is full", body = Problem),
    )
)]
pub(crate) async fn decide_finding(
    State(app): State<App>,
    visitor: Visitor,
    Path(id): Path<u64>,
    extract::Json(triage): extract::Json<Triage>,
) -> Result<Json<TrendFinding>, Problem> {
    find_visible_finding(&app, &visitor, id).await?;
    let decided =
        app.run_change(move |service| service.decide_finding(&visitor.actor, id, &triage));
    Ok(Json(decided.await?))
}

/// The selection of series.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SeriesQuery {
    /// Only those of this machine.
    machine: Option<String>,
    /// Only series with smaller numbers than this one: `next` of the page before.
    before: Option<u64>,
    /// The most series: 1 to 200, 50 by default.
    limit: Option<u32>,
}

/// Series, newest first: each is a choice of a machine's tables at a size.
#[utoipa::path(
    get, path = "/api/v1/trends", tag = "trends", params(SeriesQuery),
    responses(
        (status = 200, body = Page<TrendSeries>),
        (status = 400, description = "Unknown query", body = Problem),
        (status = 401, body = Problem), (status = 403, body = Problem),
    )
)]
pub(crate) async fn list_series(
    State(app): State<App>,
    visitor: Visitor,
    Query(asked): Query<SeriesQuery>,
) -> Result<Encoded, Problem> {
    visitor.require_read_anything()?;
    let slice = Slice {
        before: asked.before,
        limit: asked.limit,
    };
    app.read_as_json(move |service| {
        let readable = visitor.readable_machines();
        service.list_series(readable.as_deref(), asked.machine.as_deref(), slice)
    })
    .await
}

/// The selection of levels.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LevelsQuery {
    /// Only those of this machine.
    machine: Option<String>,
}

/// What the series of each machine and library show together: the last seven days, compared with the epoch before.
#[utoipa::path(
    get, path = "/api/v1/levels", tag = "trends", params(LevelsQuery),
    responses(
        (status = 200, body = Vec<TrendLevel>),
        (status = 400, description = "Unknown query", body = Problem),
        (status = 401, body = Problem), (status = 403, body = Problem),
    )
)]
pub(crate) async fn list_levels(
    State(app): State<App>,
    visitor: Visitor,
    Query(asked): Query<LevelsQuery>,
) -> Result<Encoded, Problem> {
    visitor.require_read_anything()?;
    app.read_as_json(move |service| {
        let readable = visitor.readable_machines();
        service.list_levels(readable.as_deref(), asked.machine.as_deref())
    })
    .await
}

/// The series with this number and its points, if the visitor may see it.
pub(crate) async fn find_visible_trend(
    app: &App,
    visitor: &Visitor,
    id: u64,
) -> Result<Trend, Problem> {
    visitor.require_read_anything()?;
    let trend = app
        .run_reading(move |service| service.read_trend(id))
        .await?;
    if visitor.may_read(Some(&trend.series.machine)) {
        Ok(trend)
    } else {
        Err(Problem::not_found("series", id.to_string()))
    }
}

/// A series with its points and epochs.
#[utoipa::path(
    get, path = "/api/v1/trends/{id}", tag = "trends", params(("id" = u64, Path)),
    responses(
        (status = 200, body = Trend),
        (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem),
    )
)]
pub(crate) async fn get_trend(
    State(app): State<App>,
    visitor: Visitor,
    Path(id): Path<u64>,
) -> Result<Json<Trend>, Problem> {
    Ok(Json(find_visible_trend(&app, &visitor, id).await?))
}

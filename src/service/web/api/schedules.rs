//! Schedules.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use service::{PauseRequest, Schedule, ScheduleDefinition, ScheduleTag};
use utoipa::IntoParams;

use crate::conditions::{format_etag, revision_from_headers, set_cache_headers};
use crate::extract::{self, Path, Query};
use crate::json::Json;
use crate::state::Encoded;
use crate::{App, Problem, Visitor};

/// `Cache-Control` of a schedule.
const ASK_AGAIN: &str = "no-cache";

/// The selection of schedules.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SchedulesQuery {
    /// Only those of this machine.
    machine: Option<String>,
}

/// Schedules, by name. Needs the scope `read`.
#[utoipa::path(
    get, path = "/api/v1/schedules", tag = "schedules", params(SchedulesQuery),
    responses(
        (status = 200, body = Vec<Schedule>),
        (status = 400, description = "Unknown query", body = Problem),
        (status = 401, body = Problem), (status = 403, body = Problem),
    )
)]
pub(crate) async fn list_schedules(
    State(app): State<App>,
    visitor: Visitor,
    Query(asked): Query<SchedulesQuery>,
) -> Result<Encoded, Problem> {
    visitor.require_read_anything()?;
    app.read_as_json(move |service| {
        let readable = visitor.readable_machines();
        service.list_schedules(readable.as_deref(), asked.machine.as_deref())
    })
    .await
}

/// The schedule of this name, if the visitor may see it.
pub(crate) async fn find_visible_schedule(
    app: &App,
    visitor: &Visitor,
    name: &str,
) -> Result<Schedule, Problem> {
    visitor.require_read_anything()?;
    let wanted = name.to_owned();
    let schedule = app
        .run_reading(move |service| service.read_schedule(&wanted))
        .await?;
    if visitor.may_read(schedule.definition.task.machine.as_deref()) {
        Ok(schedule)
    } else {
        Err(Problem::not_found("schedule", name))
    }
}

/// A schedule.
#[utoipa::path(
    get, path = "/api/v1/schedules/{name}", tag = "schedules", params(("name" = String, Path)),
    responses(
        (status = 200, description = "The schedule, with an `ETag` of its revision and definition", body = Schedule),
        (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem),
    )
)]
pub(crate) async fn get_schedule(
    State(app): State<App>,
    visitor: Visitor,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let schedule = find_visible_schedule(&app, &visitor, &name).await?;
    Ok(schedule_response(StatusCode::OK, schedule))
}

/// Makes or replaces a schedule. Needs the scope `submit` for its machine.
///
/// `If-None-Match: *` makes one only if there is none of this name; `If-Match` with the schedule's ETag replaces it only
/// if it has not changed.
#[utoipa::path(
    put, path = "/api/v1/schedules/{name}", tag = "schedules",
    params(
        ("name" = String, Path, description = "1 to 64 of a-z, digits, `-`, `_` and `.`"),
        ("If-Match" = Option<String>, Header, description = "The schedule's ETag, or `*`"),
        ("If-None-Match" = Option<String>, Header, description = "`*` for a new schedule"),
    ),
    request_body = ScheduleDefinition,
    responses(
        (status = 200, description = "The replaced schedule", body = Schedule),
        (status = 201, description = "The new schedule; `Location` has its address", body = Schedule),
        (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, description = "No such machine, campaign or table", body = Problem),
        (status = 409, description = "There are too many schedules", body = Problem),
        (status = 412, description = "The schedule is not as expected", body = Problem),
        (status = 413, body = Problem), (status = 415, body = Problem), (status = 422, body = Problem),
        (status = 428, description = "Neither `If-Match` nor `If-None-Match`", body = Problem),
        (status = 507, description = "The disk is full", body = Problem),
    )
)]
pub(crate) async fn put_schedule(
    State(app): State<App>,
    visitor: Visitor,
    Path(name): Path<String>,
    headers: HeaderMap,
    extract::Json(definition): extract::Json<ScheduleDefinition>,
) -> Result<Response, Problem> {
    refuse_name_of_others(&app, &visitor, &name).await?;
    let expected = revision_from_headers(&headers)?;
    let location = format!("/api/v1/schedules/{name}");
    let put = app.run_slow_change(move |service| {
        service.put_schedule(&visitor.actor, &name, &definition, expected)
    });
    let (schedule, is_new) = put.await?;
    if is_new {
        let response = schedule_response(StatusCode::CREATED, schedule);
        Ok(([(header::LOCATION, location)], response).into_response())
    } else {
        Ok(schedule_response(StatusCode::OK, schedule))
    }
}

/// Removes a schedule; its tasks stay. Needs the scope `submit` for its machine.
#[utoipa::path(
    delete, path = "/api/v1/schedules/{name}", tag = "schedules",
    params(
        ("name" = String, Path),
        ("If-Match" = Option<String>, Header, description = "The schedule's ETag, or `*`"),
    ),
    responses(
        (status = 204, description = "The schedule is removed"),
        (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem),
        (status = 409, description = "A task of it waits", body = Problem),
        (status = 412, description = "The schedule is not as expected", body = Problem),
        (status = 428, description = "No `If-Match`", body = Problem),
    )
)]
pub(crate) async fn remove_schedule(
    State(app): State<App>,
    visitor: Visitor,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let schedule = find_visible_schedule(&app, &visitor, &name).await?;
    let machine = schedule.definition.task.machine.as_deref();
    visitor
        .actor
        .require_scope(service::Scope::Submit, machine)?;
    let expected = revision_from_headers(&headers)?;
    app.run_change(move |service| service.remove_schedule(&visitor.actor, &name, expected))
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Pauses a schedule, with a reason: it submits nothing, and its waiting tasks do not start. Needs the scope `submit`
/// for its machine.
#[utoipa::path(
    post, path = "/api/v1/schedules/{name}/pause", tag = "schedules", params(("name" = String, Path)),
    request_body = PauseRequest,
    responses(
        (status = 200, body = Schedule),
        (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem),
        (status = 409, description = "The schedule is paused", body = Problem),
        (status = 413, body = Problem), (status = 415, body = Problem), (status = 422, body = Problem),
        (status = 507, description = "The disk is full", body = Problem),
    )
)]
pub(crate) async fn pause_schedule(
    State(app): State<App>,
    visitor: Visitor,
    Path(name): Path<String>,
    extract::Json(request): extract::Json<PauseRequest>,
) -> Result<Response, Problem> {
    find_visible_schedule(&app, &visitor, &name).await?;
    let paused =
        app.run_change(move |service| service.pause_schedule(&visitor.actor, &name, &request));
    Ok(schedule_response(StatusCode::OK, paused.await?))
}

/// Ends the pause of a schedule, with a reason. Times and events during the pause are left out. Needs the scope `submit`
/// for its machine.
#[utoipa::path(
    post, path = "/api/v1/schedules/{name}/resume", tag = "schedules", params(("name" = String, Path)),
    request_body = PauseRequest,
    responses(
        (status = 200, body = Schedule),
        (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem),
        (status = 409, description = "The schedule is not paused", body = Problem),
        (status = 413, body = Problem), (status = 415, body = Problem), (status = 422, body = Problem),
        (status = 507, description = "The disk is full", body = Problem),
    )
)]
pub(crate) async fn resume_schedule(
    State(app): State<App>,
    visitor: Visitor,
    Path(name): Path<String>,
    extract::Json(request): extract::Json<PauseRequest>,
) -> Result<Response, Problem> {
    find_visible_schedule(&app, &visitor, &name).await?;
    let resumed =
        app.run_change(move |service| service.resume_schedule(&visitor.actor, &name, &request));
    Ok(schedule_response(StatusCode::OK, resumed.await?))
}

/// Refuses a name that a schedule of a machine has that the visitor may not use, before conditions are evaluated.
async fn refuse_name_of_others(app: &App, visitor: &Visitor, name: &str) -> Result<(), Problem> {
    let wanted = name.to_owned();
    let found = app.run_reading(move |service| service.read_schedule(&wanted));
    match found.await {
        Ok(schedule) => {
            let machine = schedule.definition.task.machine.as_deref();
            Ok(visitor
                .actor
                .require_scope(service::Scope::Submit, machine)?)
        }
        Err(problem) if problem.status == StatusCode::NOT_FOUND => Ok(()),
        Err(problem) => Err(problem),
    }
}

fn schedule_response(status: StatusCode, schedule: Schedule) -> Response {
    let tag = format_etag(ScheduleTag::from_schedule(&schedule));
    let mut response = (status, Json(schedule)).into_response();
    set_cache_headers(&mut response, &tag, ASK_AGAIN);
    response
}

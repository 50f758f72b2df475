//! The queue.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::IntoResponse;
use serde::Deserialize;
use service::{LogPart, Page, Slice, Task, TaskFilter, TaskId, TaskRequest, TaskState};
use utoipa::IntoParams;

use crate::extract::{self, Path, Query, header_text};
use crate::json::Json;
use crate::state::Encoded;
use crate::{App, Problem, Visitor};

/// The selection of tasks.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct TasksQuery {
    /// Only those in this state.
    state: Option<TaskState>,
    /// Only those of this machine.
    machine: Option<String>,
    /// Only those of this campaign, by its path.
    campaign: Option<String>,
    /// Only tasks with smaller numbers than this one: `next` of the page before.
    before: Option<u64>,
    /// The most tasks: 1 to 200, 50 by default.
    limit: Option<u32>,
}

/// Tasks, newest first.
#[utoipa::path(
    get, path = "/api/v1/tasks", tag = "tasks", params(TasksQuery),
    responses(
        (status = 200, body = Page<Task>),
        (status = 400, description = "Unknown query", body = Problem),
        (status = 401, body = Problem), (status = 403, body = Problem),
    )
)]
pub(crate) async fn list_tasks(
    State(app): State<App>,
    visitor: Visitor,
    Query(asked): Query<TasksQuery>,
) -> Result<Encoded, Problem> {
    visitor.require_read(asked.machine.as_deref())?;
    let slice = Slice {
        before: asked.before,
        limit: asked.limit,
    };
    let filter = TaskFilter {
        state: asked.state,
        machine: asked.machine,
        campaign: asked.campaign,
        machines: None,
    };
    app.read_as_json(move |service| service.list_tasks(&filter, slice))
        .await
}

/// Adds a task to the queue.
///
/// Repeating the request with the same `Idempotency-Key` adds nothing and returns the same task.
#[utoipa::path(
    post, path = "/api/v1/tasks", tag = "tasks",
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 characters")),
    request_body = TaskRequest,
    responses(
        (status = 202, description = "The task; `Location` has its address", body = Task),
        (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, description = "No such machine, campaign or table", body = Problem),
        (status = 409, description = "The key belongs to another request", body = Problem),
        (status = 413, body = Problem), (status = 415, body = Problem), (status = 422, body = Problem),
        (status = 507, description = "The disk is full", body = Problem),
    )
)]
pub(crate) async fn submit_task(
    State(app): State<App>,
    visitor: Visitor,
    headers: HeaderMap,
    extract::Json(request): extract::Json<TaskRequest>,
) -> Result<impl IntoResponse, Problem> {
    let name = HeaderName::from_static("idempotency-key");
    let key = header_text(&headers, &name)?.map(str::to_owned);
    if key
        .as_ref()
        .is_some_and(|key| !(1..=255).contains(&key.len()))
    {
        let detail = "`Idempotency-Key` must have 1 to 255 characters";
        return Err(Problem::new(StatusCode::BAD_REQUEST, detail));
    }
    let submitted = app.run_slow_change(move |service| {
        service.submit_task(&visitor.actor, &request, key.as_deref())
    });
    let task = submitted.await?.task;
    let location = format!("/api/v1/tasks/{}", task.id);
    Ok((
        StatusCode::ACCEPTED,
        [(header::LOCATION, location)],
        Json(task),
    ))
}

/// The task with this number, if the visitor may see it.
pub(super) async fn find_visible_task(
    app: &App,
    visitor: &Visitor,
    id: TaskId,
) -> Result<Task, Problem> {
    visitor.require_read_anything()?;
    let reader = visitor.clone();
    app.run_reading(move |service| reader.find_task(service, id))
        .await
}

/// A task.
#[utoipa::path(
    get, path = "/api/v1/tasks/{id}", tag = "tasks", params(("id" = u64, Path)),
    responses(
        (status = 200, body = Task),
        (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem),
    )
)]
pub(crate) async fn get_task(
    State(app): State<App>,
    visitor: Visitor,
    Path(id): Path<TaskId>,
) -> Result<Json<Task>, Problem> {
    Ok(Json(find_visible_task(&app, &visitor, id).await?))
}

/// Requests that a task ends. Cancelling again is no error.
#[utoipa::path(
    post, path = "/api/v1/tasks/{id}/cancel", tag = "tasks", params(("id" = u64, Path)),
    responses(
        (status = 202, body = Task),
        (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem),
        (status = 409, description = "The task has ended", body = Problem),
    )
)]
pub(crate) async fn cancel_task(
    State(app): State<App>,
    visitor: Visitor,
    Path(id): Path<TaskId>,
) -> Result<impl IntoResponse, Problem> {
    let task = app.run_change(move |service| service.cancel_task(&visitor.actor, id));
    Ok((StatusCode::ACCEPTED, Json(task.await?)))
}

/// The start of a part of a log.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct From {
    /// The first byte.
    #[serde(default)]
    from: u64,
}

/// A part of a task's log, which may still grow.
#[utoipa::path(
    get, path = "/api/v1/tasks/{id}/log", tag = "tasks", params(("id" = u64, Path), From),
    responses(
        (status = 200, body = LogPart),
        (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, description = "No such task, or it has no log", body = Problem),
    )
)]
pub(crate) async fn get_log_part(
    State(app): State<App>,
    visitor: Visitor,
    Path(id): Path<TaskId>,
    Query(From { from }): Query<From>,
) -> Result<Json<LogPart>, Problem> {
    find_visible_task(&app, &visitor, id).await?;
    let part = app.run_reading(move |service| service.read_log(id, from));
    Ok(Json(part.await?))
}

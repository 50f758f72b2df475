//! Agents: machines whose tasks are carried out on another host.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use service::{
    AgentCampaigns, ClaimRequest, ClaimedTask, Completed, Completion, Heartbeat, HeartbeatAnswer,
};

use crate::extract::{self, Path, Unread};
use crate::json::Json;
use crate::{App, Problem, Visitor};

/// Takes in the campaigns of the agent's folder, in place of those that it had. Needs the scope `agent`, like all
/// requests of an agent.
#[utoipa::path(
    put, path = "/api/v1/machines/{machine}/agent/campaigns", tag = "agents", params(("machine" = String, Path)),
    request_body = AgentCampaigns,
    responses(
        (status = 204, description = "They are stored"),
        (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem),
        (status = 409, description = "The machine has no agent", body = Problem),
        (status = 413, body = Problem), (status = 415, body = Problem), (status = 422, body = Problem),
        (status = 507, description = "The disk is full", body = Problem),
    )
)]
pub(crate) async fn put_campaigns(
    State(app): State<App>,
    visitor: Visitor,
    Path(machine): Path<String>,
    body: Unread<AgentCampaigns>,
) -> Result<StatusCode, Problem> {
    visitor.require_agent(&machine)?;
    let campaigns = body.parse_json()?;
    app.run_change(move |service| {
        service.put_agent_campaigns(&visitor.actor, &machine, &campaigns)
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Gives the agent a task to carry out, if there is one.
///
/// A request that is repeated because its answer was lost gets the same task.
#[utoipa::path(
    post, path = "/api/v1/machines/{machine}/agent/claim", tag = "agents", params(("machine" = String, Path)),
    request_body = ClaimRequest,
    responses(
        (status = 200, body = ClaimedTask),
        (status = 204, description = "There is no task"),
        (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem),
        (status = 409, description = "The machine has no agent", body = Problem),
        (status = 413, body = Problem), (status = 415, body = Problem), (status = 422, body = Problem),
        (status = 507, description = "The disk is full", body = Problem),
    )
)]
pub(crate) async fn claim_task(
    State(app): State<App>,
    visitor: Visitor,
    Path(machine): Path<String>,
    extract::Json(request): extract::Json<ClaimRequest>,
) -> Result<Response, Problem> {
    let claimed =
        app.run_change(move |service| service.claim_task(&visitor.actor, &machine, &request));
    Ok(match claimed.await? {
        Some(task) => Json(task).into_response(),
        None => StatusCode::NO_CONTENT.into_response(),
    })
}

/// Stores what the agent tells of a task that it carries out: reason, progress, node-seconds, log.
#[utoipa::path(
    post, path = "/api/v1/machines/{machine}/agent/heartbeat", tag = "agents", params(("machine" = String, Path)),
    request_body = Heartbeat,
    responses(
        (status = 200, body = HeartbeatAnswer),
        (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, description = "No such machine or claim", body = Problem),
        (status = 409, description = "Another agent has the task, or it has ended", body = Problem),
        (status = 413, body = Problem), (status = 415, body = Problem), (status = 422, body = Problem),
        (status = 507, description = "The disk is full", body = Problem),
    )
)]
pub(crate) async fn note_heartbeat(
    State(app): State<App>,
    visitor: Visitor,
    Path(machine): Path<String>,
    body: Unread<Heartbeat>,
) -> Result<Json<HeartbeatAnswer>, Problem> {
    visitor.require_agent(&machine)?;
    let heartbeat = body.parse_json()?;
    let answer =
        app.run_change(move |service| service.note_heartbeat(&visitor.actor, &machine, &heartbeat));
    Ok(Json(answer.await?))
}

/// Stores the result of a task that the agent has carried out.
///
/// The result may be sent again until it is acknowledged, and counts once. A success counts also if another agent has the
/// task by now, unless that one was faster. The table of `tune` is added to the machine's tables before.
#[utoipa::path(
    post, path = "/api/v1/machines/{machine}/agent/complete", tag = "agents", params(("machine" = String, Path)),
    request_body = Completion,
    responses(
        (status = 200, body = Completed),
        (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, description = "No such machine, claim or table", body = Problem),
        (status = 409, description = "Another agent has the task, and this one failed", body = Problem),
        (status = 413, body = Problem), (status = 415, body = Problem), (status = 422, body = Problem),
        (status = 507, description = "The disk is full", body = Problem),
    )
)]
pub(crate) async fn complete_claim(
    State(app): State<App>,
    visitor: Visitor,
    Path(machine): Path<String>,
    body: Unread<Completion>,
) -> Result<Json<Completed>, Problem> {
    visitor.require_agent(&machine)?;
    let completion = body.parse_json()?;
    let completed = app.run_slow_change(move |service| {
        service.complete_claim(&visitor.actor, &machine, &completion)
    });
    Ok(Json(completed.await?))
}

//! What tables did for jobs.

use std::time::Instant;

use answers::{MachineTraffic, UsageReceipt};
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use service::Scope;
use utoipa::IntoParams;

use crate::extract::{Path, Query, Text};
use crate::json::Json;
use crate::state::Encoded;
use crate::{App, Problem, Visitor};

/// The days that are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct UsageQuery {
    /// The number of days up to today; 30 by default, and at most those that are kept.
    days: Option<u32>,
}

/// What tables did for a machine's jobs: the share of their calls that each table serves, and what is not covered.
#[utoipa::path(
    get, path = "/api/v1/machines/{machine}/usage", tag = "usage", params(("machine" = String, Path), UsageQuery),
    responses(
        (status = 200, body = MachineTraffic),
        (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem), (status = 422, description = "0 days", body = Problem),
    )
)]
pub(crate) async fn get_usage(
    State(app): State<App>,
    visitor: Visitor,
    Path(machine): Path<String>,
    Query(query): Query<UsageQuery>,
) -> Result<Encoded, Problem> {
    visitor.require_read(Some(&machine))?;
    app.read_as_json(move |service| service.read_usage(&machine, query.days))
        .await
}

/// Counts jobs of a machine: the lines of JSON that `COLLTUNE_USAGE` lets them write. Needs the scope `usage`.
///
/// A line that is sent again does not count again. If a line is wrong, none of the request counts. The lines are added up by
/// day, table, collective and reason, and are not kept.
#[utoipa::path(
    post, path = "/api/v1/machines/{machine}/usage", tag = "usage", params(("machine" = String, Path)),
    request_body(content = String, content_type = "application/jsonl", description = "At most 1 MiB of lines"),
    responses(
        (status = 200, body = UsageReceipt),
        (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem), (status = 413, body = Problem),
        (status = 422, description = "A line is wrong; `detail` has its number", body = Problem),
        (status = 429, description = "Over 120 requests in a minute", body = Problem),
        (status = 507, description = "The disk is full", body = Problem),
    )
)]
pub(crate) async fn add_usage(
    State(app): State<App>,
    visitor: Visitor,
    Path(machine): Path<String>,
    Text(text): Text,
) -> Result<Json<UsageReceipt>, Problem> {
    // Who may not send lines does not take the place of those who may.
    visitor.actor.require_scope(Scope::Usage, Some(&machine))?;
    if let Err(wait) = app.shared.usage_rate.count_request(Instant::now()) {
        let detail = "there were too many requests with lines about jobs in this minute; send more lines at a time";
        return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, detail).retry_after(wait));
    }
    let counted =
        app.run_slow_change(move |service| service.add_usage(&visitor.actor, &machine, &text));
    Ok(Json(counted.await?))
}

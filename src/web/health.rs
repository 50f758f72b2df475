//! Whether the service lives, and whether it can answer.

use axum::extract::State;
use axum::http::StatusCode;

use crate::{App, Problem};

/// Answers `/healthz`: the process lives.
pub(crate) async fn live() -> &'static str {
    "ok\n"
}

/// Answers `/readyz`: the database can be read, and the service is not about to end.
pub(crate) async fn ready(State(app): State<App>) -> Result<&'static str, Problem> {
    let unavailable = |detail| Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail);
    if *app.shared.ending.borrow() {
        return Err(unavailable("the service is about to end"));
    }
    let asked = app.ask(|service| service.task_counts()).await;
    asked.map_err(|_| unavailable("the database cannot be read"))?;
    Ok("ready\n")
}

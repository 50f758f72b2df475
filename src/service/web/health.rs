//! Liveness and readiness.

use axum::extract::State;
use axum::http::StatusCode;

use crate::{App, Problem};

/// Answers `/healthz`: the process is alive.
pub(crate) async fn check_liveness() -> &'static str {
    "ok\n"
}

/// Answers `/readyz`: the database is readable, and the service is not stopping.
pub(crate) async fn check_readiness(State(app): State<App>) -> Result<&'static str, Problem> {
    let unavailable = |detail| Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail);
    if *app.shared.ending.borrow() {
        return Err(unavailable("the service is stopping"));
    }
    let asked = app.run_urgent(|service| service.task_counts()).await;
    asked.map_err(|_| unavailable("the database cannot be read"))?;
    Ok("ready\n")
}

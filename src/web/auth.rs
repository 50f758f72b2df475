//! Who asks: a token in `Authorization: Bearer`, a session's cookie, the user at the other end of a Unix socket, or nobody
//! known, who may read where reading is open.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use service::Actor;

use crate::{App, Problem};

/// Who asks. Extracting it fails with 401 where a token is wrong, and where reading is not open and there is none.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    /// What they may do.
    pub(crate) actor: Actor,
    /// Whether they have logged in with a browser; then forms carry `form_token`, which is checked before any change.
    pub(crate) form_token: Option<String>,
}

impl FromRequestParts<App> for Visitor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let _ = (parts, app);
        todo!()
    }
}

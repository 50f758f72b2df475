//! The interface `/api/v1`.

use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::App;
use crate::routes::Document;

mod channels;
mod events;
mod lookup;
mod machines;
mod records;
mod session;
mod tables;
mod tasks;

pub(crate) use self::tables::{write_difference, write_export};

/// All routes of the interface, with their parts of the OpenAPI document.
pub(crate) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(machines::list))
        .routes(routes!(machines::campaigns))
        .routes(routes!(tasks::list, tasks::submit))
        .routes(routes!(tasks::one))
        .routes(routes!(tasks::cancel))
        .routes(routes!(tasks::log))
        .routes(routes!(events::of_task))
        .routes(routes!(events::all))
        .routes(routes!(tables::blob))
        .routes(routes!(tables::of_machine, tables::take_in))
        .routes(routes!(tables::one))
        .routes(routes!(tables::diff))
        .routes(routes!(tables::report))
        .routes(routes!(tables::export))
        .routes(routes!(channels::list))
        .routes(routes!(channels::manifest))
        .routes(routes!(channels::releases, channels::release))
        .routes(routes!(channels::gates))
        .routes(routes!(lookup::one, lookup::many))
        .routes(routes!(records::tokens, records::make_token))
        .routes(routes!(records::revoke_token))
        .routes(routes!(records::audit))
        .routes(routes!(session::begin, session::end))
}

//! All routes.

use axum::Router;
use axum::http::header;
use axum::routing::get;
use utoipa::OpenApi;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};

use crate::{App, api, document, health, layers, metrics, pages};

pub(crate) fn build_router(app: App) -> Router {
    let (interface, mut document) = api::build_router().split_for_parts();
    document::complete_responses(&mut document);
    // A test shows that the document can be written.
    let document = document.to_json().unwrap_or_default();
    let media = [(header::CONTENT_TYPE, "application/json")];
    let router = interface
        .route(
            "/api/v1/openapi.json",
            get(move || async move { (media, document) }),
        )
        .route("/healthz", get(health::check_liveness))
        .route("/readyz", get(health::check_readiness))
        .route("/metrics", get(metrics::answer_metrics))
        .merge(pages::build_router());
    layers::wrap_router(router, app)
}

/// The OpenAPI 3.1 document of the interface `/api/v1`.
pub fn openapi_document() -> utoipa::openapi::OpenApi {
    let mut openapi = api::build_router().into_openapi();
    document::complete_responses(&mut openapi);
    openapi
}

/// The general part of the document.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "colltune",
        description = "Tasks that measure, tables by digest, releases of tables to channels. Errors are \
                       `application/problem+json`."
    ),
    modifiers(&Token),
    security(("token" = []), ())
)]
pub(crate) struct Document;

struct Token;

impl utoipa::Modify for Token {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", scheme);
    }
}

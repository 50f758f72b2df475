//! Errors as `application/problem+json` (RFC 9457), or as a page where a browser asks.

use axum::response::{IntoResponse, Response};
use service::ServiceError;

/// An error with its status.
#[derive(Debug)]
pub(crate) struct Problem {}

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Self {
        todo!("{error}")
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        todo!()
    }
}

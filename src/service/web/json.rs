//! JSON as the body of a response.

use axum::http::header;
use axum::response::{IntoResponse, Response};
use printable::Plain;
use serde::Serialize;

use crate::Problem;

/// A value as JSON, in which unprintable characters are escaped, since terminals show answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Json<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_string(&self.0) {
            Ok(text) => {
                let media = [(header::CONTENT_TYPE, "application/json")];
                (media, Plain(text).to_string()).into_response()
            }
            Err(error) => Problem::internal(&error).into_response(),
        }
    }
}

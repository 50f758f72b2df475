//! Extractors of the parts of requests. An extractor that fails answers with a [`Problem`].

use std::marker::PhantomData;

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, PathRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, FromRequest, FromRequestParts, Request};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use serde::de::DeserializeOwned;

use crate::Problem;
use crate::layers::BODY_BYTES;

/// The parameters of a path; 404 if they cannot be parsed.
#[derive(Debug, FromRequestParts)]
#[from_request(via(axum::extract::Path), rejection(Problem))]
pub(crate) struct Path<T>(pub(crate) T);

/// The query; 400 if it cannot be parsed or has unknown keys.
#[derive(Debug, FromRequestParts)]
#[from_request(via(axum::extract::Query), rejection(Problem))]
pub(crate) struct Query<T>(pub(crate) T);

/// The longest body of requests that describe one thing, in bytes. All connections can have one in memory at a time.
pub(crate) const SHORT: usize = 64 << 10;

/// A JSON body: 415 for other media types, 400 for invalid JSON, 422 for unexpected content, 413 for over 64 KiB.
#[derive(Debug)]
pub(crate) struct Json<T>(pub(crate) T);

/// A JSON body as [`Json`], but of up to 1 MiB, read by its handler as that may take long.
#[derive(Debug)]
pub(crate) struct Unread<T> {
    body: Bytes,
    content: PhantomData<fn() -> T>,
}

/// A text body: 400 if it is not UTF-8, 413 for over 1 MiB.
#[derive(Debug)]
pub(crate) struct Text(pub(crate) String);

impl From<PathRejection> for Problem {
    fn from(rejection: PathRejection) -> Self {
        Self::new(StatusCode::NOT_FOUND, rejection.body_text())
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        Self::new(StatusCode::BAD_REQUEST, rejection.body_text())
    }
}

impl From<BytesRejection> for Problem {
    fn from(rejection: BytesRejection) -> Self {
        let detail = match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => format!(
                "the body is too long: tables and questions have at most {BODY_BYTES} bytes, others {SHORT}"
            ),
            _ => rejection.body_text(),
        };
        Self::new(rejection.status(), detail)
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(mut request: Request, state: &S) -> Result<Self, Problem> {
        DefaultBodyLimit::max(SHORT).apply(&mut request);
        Unread::from_request(request, state)
            .await?
            .parse_json()
            .map(Self)
    }
}

impl<S: Send + Sync, T> FromRequest<S> for Unread<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let media = header_text(request.headers(), &header::CONTENT_TYPE)?.unwrap_or_default();
        let media = media.split(';').next().unwrap_or_default().trim();
        if !media.eq_ignore_ascii_case("application/json") {
            let detail = "the body must be JSON, with `Content-Type: application/json`";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
        }
        Ok(Self {
            body: Bytes::from_request(request, state).await?,
            content: PhantomData,
        })
    }
}

impl<T: DeserializeOwned> Unread<T> {
    /// Reads the body.
    ///
    /// # Errors
    /// 400 and 422 as for [`Json`].
    pub(crate) fn parse_json(&self) -> Result<T, Problem> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let status = if error.is_data() {
                StatusCode::UNPROCESSABLE_ENTITY
            } else {
                StatusCode::BAD_REQUEST
            };
            Problem::new(status, error.to_string()).at_position(error.line(), error.column())
        })
    }
}

impl<S: Send + Sync> FromRequest<S> for Text {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let body = Bytes::from_request(request, state).await?;
        let text = String::from_utf8(body.into());
        text.map(Self).map_err(|error| {
            let from = error.utf8_error().valid_up_to();
            let detail = format!("the body is not UTF-8 from byte {from} on");
            Problem::new(StatusCode::BAD_REQUEST, detail)
        })
    }
}

/// Returns a header as text; `None` if it is absent.
///
/// # Errors
/// 400 if it is given twice, or has characters other than printable ASCII.
pub(crate) fn header_text<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'h str>, Problem> {
    let wrong = |what: &str| Problem::new(StatusCode::BAD_REQUEST, format!("`{name}` {what}"));
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(wrong("is given twice"));
    }
    let text = value
        .to_str()
        .map_err(|_| wrong("has characters that are not printable ASCII"))?;
    Ok(Some(text))
}

//! Extractors for pages: visitors and forms.

use std::str::FromStr;

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Form, FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use service::ServiceError;

use super::layout::with_query;
use crate::extract::SHORT;
use crate::{App, Problem, Visitor};

/// The most fields of a form; one of tokens has a field for each machine.
const MOST_FIELDS: usize = 1000;

/// A visitor who may read. Others are redirected to the login page, which leads back.
pub(super) struct Reader(pub(super) Visitor);

impl FromRequestParts<App> for Reader {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Response> {
        match Visitor::from_request_parts(parts, app).await {
            Ok(visitor) => match visitor.require_read_anything() {
                Ok(()) => Ok(Self(visitor)),
                Err(problem) => Err(problem.into_response()),
            },
            Err(problem) if problem.status == StatusCode::UNAUTHORIZED => {
                Err(redirect_to_login(parts))
            }
            Err(problem) => Err(problem.into_response()),
        }
    }
}

/// Redirects to the login page, and from there back to the requested page.
fn redirect_to_login(parts: &Parts) -> Response {
    let wanted = parts
        .uri
        .path_and_query()
        .map_or("/", |wanted| wanted.as_str());
    let next = if parts.method == "GET" { wanted } else { "" };
    Redirect::to(&with_query("/login", &[("next", next)])).into_response()
}

/// The fields of a form that a logged-in visitor sent from one of the service's pages.
pub(super) struct SentForm {
    pub(super) visitor: Visitor,
    pub(super) fields: Fields,
}

impl FromRequest<App> for SentForm {
    type Rejection = Response;

    /// Redirects anonymous visitors to the login page; 403 if the field `form_token` is wrong.
    async fn from_request(request: Request, app: &App) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let Reader(visitor) = Reader::from_request_parts(&mut parts, app).await?;
        if visitor.is_anonymous() {
            return Err(redirect_to_login(&parts));
        }
        let rejoined = Request::from_parts(parts, body);
        let fields = Fields::from_request(rejoined, app).await?;
        match visitor.check_form(fields.nonempty_text("form_token")) {
            Ok(()) => Ok(Self { visitor, fields }),
            Err(problem) => Err(problem.into_response()),
        }
    }
}

/// The query of a list's page: only rows with numbers below `before`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Before {
    #[serde(default)]
    pub(super) before: Option<u64>,
}

/// The fields of a form, in the order in which they were sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields(Vec<(String, String)>);

impl FromRequest<App> for Fields {
    type Rejection = Response;

    async fn from_request(mut request: Request, app: &App) -> Result<Self, Response> {
        DefaultBodyLimit::max(SHORT).apply(&mut request);
        let (parts, body) = request.into_parts();
        let whole = Bytes::from_request(Request::from_parts(parts.clone(), body), app).await;
        let whole = whole.map_err(|rejection| Problem::from(rejection).into_response())?;
        check_fields(&whole).map_err(IntoResponse::into_response)?;
        let rejoined = Request::from_parts(parts, Body::from(whole));
        let Form(fields) = Form::<Vec<(String, String)>>::from_request(rejoined, app)
            .await
            .map_err(|error| Problem::new(error.status(), error.body_text()).into_response())?;
        Ok(Self(fields))
    }
}

/// Refuses a form that none of the pages has. Each field takes time and memory, also of visitors who have not logged in.
fn check_fields(form: &[u8]) -> Result<(), Problem> {
    let fields = form.split(|byte| *byte == b'&').count();
    if fields > MOST_FIELDS {
        let detail = format!("a form has at most {MOST_FIELDS} fields");
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail));
    }
    Ok(())
}

impl Fields {
    pub(super) fn with_field(mut self, name: &str, value: &str) -> Self {
        self.0.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The first value of a field without surrounding spaces; empty if there is none.
    pub(super) fn text(&self, name: &str) -> &str {
        self.all_values(name).next().unwrap_or_default()
    }

    /// A field with a non-empty value.
    pub(super) fn nonempty_text(&self, name: &str) -> Option<&str> {
        Some(self.text(name)).filter(|value| !value.is_empty())
    }

    /// The values of a field that may be repeated.
    pub(super) fn all_values(&self, name: &str) -> impl Iterator<Item = &str> {
        let fields = self.0.iter().filter(move |(field, _)| field == name);
        fields.map(|(_, value)| value.trim())
    }

    /// The parts of a field separated by commas or spaces; `None` if there are none.
    pub(super) fn list_items(&self, name: &str) -> Option<Vec<String>> {
        let parts = self.text(name).split([',', ' ', '\n', '\r']);
        let parts: Vec<String> = parts
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect();
        (!parts.is_empty()).then_some(parts)
    }

    /// A numeric field; `None` if it is empty, [`ServiceError::Invalid`] if it is not a number.
    pub(super) fn parse_number<N: FromStr>(
        &self,
        name: &'static str,
    ) -> Result<Option<N>, ServiceError> {
        let wrong = |text: &str| ServiceError::Invalid {
            field: name,
            problem: format!("`{text}` is not a whole number, or is too large"),
        };
        let number = |text: &str| text.parse().map_err(|_| wrong(text));
        self.nonempty_text(name).map(number).transpose()
    }
}
